import { closeSync, existsSync, openSync } from 'node:fs';
import {
  acceptedContent,
  fromJsonSchema,
  inputRequired,
  McpServer,
  type ElicitRequestFormParams,
  type McpServerFactory,
} from '@modelcontextprotocol/server';

/** What the example's tools have seen so far, over all connections. */
export interface Seen {
  /** Each call, with the idempotency key that came with it. */
  readonly calls: { readonly tool: string; readonly key: unknown }[];
  /** How many calls their client cancelled. */
  cancelled: number;
}

interface ExampleOptions {
  readonly seen: Seen;
  /** Ends the connection, or the whole server, in the middle of a call. */
  readonly die: () => void;
  /** Lists this number of tools, page by page, in place of its own. */
  readonly listed?: number | undefined;
}

const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });
const objectOf = <T>(properties: Readonly<Record<string, object>>, required = Object.keys(properties)) =>
  fromJsonSchema<T>({ type: 'object', properties, required });

type FormSchema = ElicitRequestFormParams['requestedSchema'];
const place: FormSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const stay: FormSchema = {
  type: 'object',
  properties: { nights: { type: 'integer', minimum: 1 } },
  required: ['nights'],
};

// The protocol of 2025 knows no other way to ask.
/* eslint-disable @typescript-eslint/no-deprecated */

/** An MCP server with a tool for each thing that a client must be ready for. */
export const exampleServer =
  ({ seen, die, listed }: ExampleOptions): McpServerFactory =>
  ({ era }) => {
    const server = new McpServer({ name: 'example', version: '1.0.0' });
    const see = (tool: string, meta: Readonly<Record<string, unknown>> | undefined): void =>
      void seen.calls.push({ tool, key: meta?.['agent-workflow/idempotencyKey'] });

    server.registerTool(
      'add',
      {
        description: 'Adds two numbers.',
        inputSchema: objectOf<{ a: number; b: number }>({ a: { type: 'number' }, b: { type: 'number' } }),
        outputSchema: objectOf<{ sum: number }>({ sum: { type: 'number' } }),
        annotations: { readOnlyHint: true },
      },
      async ({ a, b }, { mcpReq }) => {
        see('add', mcpReq._meta);
        return { ...text(String(a + b)), structuredContent: { sum: a + b } };
      },
    );
    server.registerTool('notes.write', { title: 'Writes a note' }, async ({ mcpReq }) => {
      see('notes.write', mcpReq._meta);
      return text('written');
    });
    server.registerTool('fail', {}, async () => ({ ...text('the shelf is empty'), isError: true }));
    server.registerTool('draw', {}, async () => ({
      content: [
        { type: 'text', text: 'a dot' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ],
    }));
    server.registerTool('flood', {}, async () => text('x'.repeat(3 * 1024 * 1024)));
    server.registerTool('wait', {}, async ({ mcpReq }) => {
      see('wait', mcpReq._meta);
      await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve));
      seen.cancelled += 1;
      return text('cancelled');
    });
    server.registerTool(
      'die',
      {
        description: 'Dies unless the file is there.',
        inputSchema: objectOf<{ file: string }>({ file: { type: 'string' } }),
      },
      async ({ file }, { mcpReq }) => {
        see('die', mcpReq._meta);
        if (existsSync(file)) return text('alive');
        closeSync(openSync(file, 'w'));
        die();
        return new Promise(() => undefined);
      },
    );
    server.registerTool('book', { description: 'Books a room.' }, async ({ mcpReq }) => {
      see('book', mcpReq._meta);
      if (era === 'legacy') {
        const where = await mcpReq.elicitInput({ mode: 'form', message: 'Where?', requestedSchema: place });
        if (where.action !== 'accept') return text(`nothing booked: ${where.action}`);
        const long = await mcpReq.elicitInput({ mode: 'form', message: 'How long?', requestedSchema: stay });
        return text(`${String(where.content?.['city'])} for ${String(long.content?.['nights'])} nights`);
      }
      const where = mcpReq.inputResponses?.['where'] as { readonly action?: string } | undefined;
      const city =
        mcpReq.requestState<string>() ?? acceptedContent<{ city: string }>(mcpReq.inputResponses, 'where')?.city;
      if (where && city === undefined) return text(`nothing booked: ${String(where.action)}`);
      if (city === undefined)
        return inputRequired({
          inputRequests: { where: inputRequired.elicit({ message: 'Where?', requestedSchema: place }) },
        });
      const long = acceptedContent<{ nights: number }>(mcpReq.inputResponses, 'long');
      if (long) return text(`${city} for ${String(long.nights)} nights`);
      return inputRequired({
        requestState: city,
        inputRequests: { long: inputRequired.elicit({ message: 'How long?', requestedSchema: stay }) },
      });
    });
    server.registerTool('sign_in', {}, async ({ mcpReq }) => {
      const params = { message: 'Sign in', url: 'https://sign-in.example/start' };
      if (era === 'legacy') {
        const { action } = await mcpReq.elicitInput({ mode: 'url', elicitationId: 'one', ...params });
        return text(action);
      }
      return inputRequired({ inputRequests: { sign: inputRequired.elicitUrl(params) } });
    });
    server.registerTool('report', { annotations: { readOnlyHint: true } }, async () => ({
      ...text(''),
      structuredContent: { ...seen, pid: process.pid, home: process.env['HOME'], secret: process.env['SECRET'] },
    }));
    if (listed !== undefined) listPages(server, listed);
    return server;
  };

const pageSize = 100;

function listPages({ server }: McpServer, listed: number): void {
  server.setRequestHandler('tools/list', async ({ params }) => {
    const from = Number(params?.cursor ?? 0);
    const to = Math.min(listed, from + pageSize);
    const tools = Array.from({ length: to - from }, (_, index) => ({
      name: `tool_${String(from + index)}`,
      inputSchema: { type: 'object' as const },
    }));
    return { tools, ...(to < listed && { nextCursor: String(to) }) };
  });
}
