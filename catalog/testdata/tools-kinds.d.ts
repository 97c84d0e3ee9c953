// kinds is an async global; catalog.search and catalog.all give the same function as a handle.
// It resolves to the tool's value. On failure it rejects with an Error that has a code.
// Written from the tool's schemas: unknown is what they leave open.
type Leaf = { back?: Leaf; up?: TreeNode; [key: string]: unknown; };
type TreeNode = { left?: TreeNode; other?: Leaf; [key: string]: unknown; };
type Leaf2 = Array<Leaf2>;
/**
 * Every kind of schema.
 */
declare function kinds(input: { any?: unknown; both?: TreeNode & { extra?: "*\/"; [key: string]: unknown; }; closed?: Record<string, never>; list?: Array<string | number>; map?: Record<string, boolean>; mixed?: { a?: 1; [key: string]: unknown; }; n?: number; nothing?: null; open?: Record<string, unknown>; s: string; tree: TreeNode; tuple?: [string, (string | null)?]; "we ird\n*\/"?: "a\u2028b" | 1.5e3 | null; [key: string]: unknown; }): Promise<Leaf2>;
