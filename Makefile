# make run    builds everything and runs the example cell
# make test   builds everything and runs every check and test
# make help   lists the rest

GO     ?= go
GUEST  := quickjs/guest/guest.wasm
BINARY := bin/codemode

PREFIX := /usr/local

.PHONY: help run test check build install guest abi bench clean fuzz component hammer

help:
	@echo "make run        build the guest and the command, and run examples/trip.ts"
	@echo "make test       formatting, vet, guest, tests, race detector, examples"
	@echo "make build      bin/codemode"
	@echo "make install    bin/codemode, once it is built, to $(PREFIX)/bin (PREFIX=dir for another place)"
	@echo "make guest      quickjs/guest/guest.wasm from QuickJS-NG source (QUICKJS_SRC=dir for another tree)"
	@echo "make abi        compare the guest, the bindings and the WIT"
	@echo "make component  wrap the guest as a WebAssembly component and run a cell in it on Node"
	@echo "make bench      measure, with the peers from npm side by side"
	@echo "make hammer     two hundred sessions at once for a minute, under the race detector"
	@echo "make fuzz       each fuzz target for FUZZTIME (default 30s)"
	@echo "make clean      remove what was built"

run: build
	$(BINARY) exec examples/trip.ts --tools examples/tools.json --timeout 1s --format text --verbose

test: check guest
	$(GO) build ./...
	$(GO) test ./...
	$(GO) test -race -short ./host ./quickjs ./catalog ./limits
	$(MAKE) --no-print-directory abi
	$(BINARY) exec examples/trip.ts --tools examples/tools.json --format json

check:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt -w $$unformatted"; exit 1; fi
	$(GO) vet ./...

build: guest
	$(GO) build -o $(BINARY) ./cmd/codemode

# It builds nothing: with sudo that would leave files of root behind.
install:
	@test -x $(BINARY) || { echo "run make build first"; exit 1; }
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 $(BINARY) "$(DESTDIR)$(PREFIX)/bin/codemode"

# The build itself finds out whether anything changed.
guest:
	@$(GO) run ./quickjs/build

abi: build
	$(BINARY) abi --check

component: guest
	cd component && npm ci --no-audit --no-fund --ignore-scripts && node wrap.mjs && node run.mjs
	$(GO) test -count=1 ./component

# The figures in the README come from here; --quick takes a minute, this takes about ten.
bench: build
	-bench/peers/install.sh
	$(BINARY) bench --peers --report bench/report

# Two hundred sessions at once for a minute, under the race detector.
hammer: guest
	$(GO) test -race -count=1 -run TestHammer -v ./host -hammer 60s

FUZZTIME ?= 30s
fuzz:
	@for package in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
	    echo "$$package $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
	  done; \
	done

clean:
	rm -rf bin quickjs/guest/guest.wasm quickjs/guest/manifest.json quickjs/guest/embed.go
