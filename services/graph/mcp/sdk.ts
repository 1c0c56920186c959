import type { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/** What is used of the package `@modelcontextprotocol/client`, the client of the protocol. */
export interface Sdk {
  readonly Client: typeof Client;
  readonly StreamableHTTPClientTransport: typeof StreamableHTTPClientTransport;
  readonly StdioClientTransport: typeof StdioClientTransport;
}

/**
 * Loads the client of the protocol. It is an optional peer: only agents with tools of MCP servers install it.
 * @throws Error that names the package to install.
 */
export async function loadSdk(): Promise<Sdk> {
  try {
    const main = await import('@modelcontextprotocol/client');
    const stdio = await import('@modelcontextprotocol/client/stdio');
    return { ...main, ...stdio };
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const what = 'mcpTools needs a package that is not installed: npm install @modelcontextprotocol/client';
    throw new Error(what, { cause });
  }
}
