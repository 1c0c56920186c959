const version = '2026-07-28';
const prefix = 'io.modelcontextprotocol/';

/** Sends requests about tasks as clients of MCP do that know them, and gives their results. */
export const taskCaller =
  (url: string) =>
  async (method: string, params: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>> => {
    const meta = {
      [`${prefix}protocolVersion`]: version,
      [`${prefix}clientInfo`]: { name: 'test', version: '1' },
      [`${prefix}clientCapabilities`]: { elicitation: { form: {} }, extensions: { [`${prefix}tasks`]: {} } },
    };
    const reply = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': version,
        'mcp-method': method,
        'mcp-name': String(params['name'] ?? params['taskId']),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
    });
    const text = await reply.text();
    const { result, error } = JSON.parse(text) as {
      readonly result?: Readonly<Record<string, unknown>>;
      readonly error?: unknown;
    };
    if (!result) throw new Error(`${method}: ${String(reply.status)} ${JSON.stringify(error)}`);
    return result;
  };
