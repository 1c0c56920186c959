import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { McpServer } from '@modelcontextprotocol/server';
import { exampleServer } from './mcp-example.ts';

/** The example server on standard input and output; with the argument `older` as one that knows the protocol of 2025 alone. */
const server = exampleServer({ seen: { calls: [], cancelled: 0 }, die: () => process.kill(process.pid, 'SIGKILL') });
if (process.argv[2] === 'older') {
  const product = await server({ era: 'legacy' });
  if (product instanceof McpServer) await product.connect(new StdioServerTransport());
} else {
  serveStdio(server);
}
