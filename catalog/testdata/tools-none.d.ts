// none is an async global; catalog.search and catalog.all give the same function as a handle.
// It resolves to the tool's value. On failure it rejects with an Error that has a code.
// Written from the tool's schemas: unknown is what they leave open.
declare function none(input?: Record<string, unknown>): Promise<unknown>;
