// Package quickjs runs JavaScript in QuickJS-NG compiled to WebAssembly, under wasmtime: an Engine hands out VMs, a VM
// runs one cell, and a suspended VM is a Snapshot of a few kilobytes that any engine of the same build can restore.
//
//	engine, err := quickjs.NewEngine(nil)
//	if err != nil {
//		return err
//	}
//	defer engine.Close()
//	vm, err := engine.NewVM(ctx, bridge, quickjs.Options{Limits: limits.Default()})
//	if err != nil {
//		return err
//	}
//	defer vm.Close()
//	outcome, err := vm.Run("return 1 + 2") // outcome.Payload is "3"
//
// The life of a VM:
//
//	NewVM ── Run ──┬─ Fulfilled, Rejected ── Close
//	               └─ Pending ── Settle… ──┬─ (as above)
//	                                       └─ Suspend ── Restore ── Settle…
//
// An error from Run or Settle is the VM's end: it was stopped by a limit, by its context, or it broke the ABI. Close is
// all that is left then.
//
// An Engine is safe for concurrent use; a VM is used by one goroutine at a time (its methods lock, so a mistake waits
// instead of ending the process). WebAssembly runs on at most GOMAXPROCS threads at once.
package quickjs
