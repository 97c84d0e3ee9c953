// MCP server "Git \"Hub\" *\/". Each function takes one object. Names and texts below come from the server.
interface McpToolResult<T = unknown> { content: Array<{ type: string; [key: string]: unknown; }>; structuredContent?: T; isError?: boolean; }
interface McpApi { kind: "mcp_api"; scope: "root" | "server" | "tool"; server?: { identifier: string; serverName: string; }; header: string; tools: Array<{ method: string; path: string; mcpTool: string; operation: string; description: string; }>; schemas?: Record<string, { input: unknown; output?: unknown; }>; servers?: Array<{ identifier: string; serverName: string; tools: number; file: string; }>; note: string; }
interface McpResources { resources: Array<{ uri: string; name: string; description?: string; mimeType?: string; [key: string]: unknown; }>; nextCursor?: string; [key: string]: unknown; }
interface McpResource { contents: Array<{ uri: string; mimeType?: string; text?: string; blob?: string; [key: string]: unknown; }>; [key: string]: unknown; }
interface McpPrompts { prompts: Array<{ name: string; description?: string; arguments?: Array<{ name: string; description?: string; required?: boolean; }>; [key: string]: unknown; }>; nextCursor?: string; [key: string]: unknown; }
interface McpPrompt { description?: string; messages: Array<{ role: string; content: unknown; }>; [key: string]: unknown; }
declare namespace MCP.gitHub {
  const $serverName: "Git \"Hub\" *\/";
  function $api(selector?: string, options?: { schema?: boolean; }): Promise<McpApi>;
  /**
   * Open an issue.
   * See * / alert(1) /* the docs.
   * Third line.
   *
   * @param labels? Default: ["bug"].
   * @param state? its state Default: "open".
   * @param title what it is about * / x
   */
  function createIssue(
    input: { "a-b"?: number | null; labels?: Array<string>; state?: "open" | "clo\"sed*\/"; title: string; [key: string]: unknown; }
  ): Promise<McpToolResult<{ number: number; }>>;
  type Value = { children?: Array<Value>; [key: string]: unknown; };
  function getTree(
    input?: Record<string, never>
  ): Promise<McpToolResult<Value>>;
  namespace prompts {
    function get(
      input?: Record<string, unknown>
    ): Promise<McpPrompt>;
    function list(
      input?: Record<string, unknown>
    ): Promise<McpPrompts>;
  }
  namespace resources {
    function list(
      input?: Record<string, unknown>
    ): Promise<McpResources>;
    function read(
      input: { uri: string; }
    ): Promise<McpResource>;
  }
}
