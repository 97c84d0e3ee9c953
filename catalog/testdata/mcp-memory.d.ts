// MCP server "memory". Each function takes one object. Names and texts below come from the server.
interface McpToolResult<T = unknown> { content: Array<{ type: string; [key: string]: unknown; }>; structuredContent?: T; isError?: boolean; }
interface McpApi { kind: "mcp_api"; scope: "root" | "server" | "tool"; server?: { identifier: string; serverName: string; }; header: string; tools: Array<{ method: string; path: string; mcpTool: string; operation: string; description: string; }>; schemas?: Record<string, { input: unknown; output?: unknown; }>; servers?: Array<{ identifier: string; serverName: string; tools: number; file: string; }>; note: string; }
declare namespace MCP.memory {
  const $serverName: "memory";
  function $api(selector?: string, options?: { schema?: boolean; }): Promise<McpApi>;
  function recall(
    input?: Record<string, unknown>
  ): Promise<McpToolResult>;
}
