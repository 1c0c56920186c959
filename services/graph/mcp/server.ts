import { refuseUnknown, requireObject } from '../state/refuse-unknown.ts';

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

/** What JavaScript lets pass: a text, and members of other libraries, as `requestInit`. @throws Error naming the first one. */
export function requireServer(server: McpServer): void {
  requireObject('the server of mcpTools', server);
  const names: Readonly<Record<string, true>> = 'command' in server ? commandNames : urlNames;
  refuseUnknown('the server of mcpTools', '', server, names);
}

const urlNames: Readonly<Record<keyof McpUrl, true>> = { url: true, headers: true };
const commandNames: Readonly<Record<keyof McpCommand, true>> = { command: true, args: true, env: true, cwd: true };
