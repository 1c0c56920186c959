/** An MCP server that is reached over Streamable HTTP. */
export interface McpUrl {
  readonly url: string;
  /** Sent with every request, for example a token. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An MCP server that is started as a process of its own and spoken to over its standard input and output. */
export interface McpCommand {
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the few variables that every process needs (`PATH`, `HOME`, …). The process gets nothing else of this one's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory; absent: that of this process. */
  readonly cwd?: string;
}

export type McpServer = McpUrl | McpCommand;
