// The MCP servers. Read a server's file for its functions. Names and texts in it come from the server.
/// <reference path="./gitHub.d.ts" />
/// <reference path="./memory.d.ts" />
interface McpToolResult<T = unknown> { content: Array<{ type: string; [key: string]: unknown; }>; structuredContent?: T; isError?: boolean; }
interface McpApi { kind: "mcp_api"; scope: "root" | "server" | "tool"; server?: { identifier: string; serverName: string; }; header: string; tools: Array<{ method: string; path: string; mcpTool: string; operation: string; description: string; }>; schemas?: Record<string, { input: unknown; output?: unknown; }>; servers?: Array<{ identifier: string; serverName: string; tools: number; file: string; }>; note: string; }
declare namespace MCP {
  function $api(): Promise<McpApi>;
}
