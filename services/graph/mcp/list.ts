import { sizes } from '@agent-workflow/kit/sizes';
import { readForeignSchema } from '../schema/foreign.ts';
import type { JsonSchema } from '../state/schema.ts';
import type { McpClient } from './client.ts';
import type { Connection } from './connection.ts';
import { toStartFailure } from './failure.ts';
import { rawResult } from './raw-results.ts';

/** A tool of a server as it can be used here. */
export interface ListedTool {
  /** By the server's own word. */
  readonly name: string;
  readonly description: string;
  /** As the server sent it. */
  readonly inputSchema: unknown;
  readonly parameters: JsonSchema;
  /** Whether a call may be made again. */
  readonly isRepeatable: boolean;
}

/** A tool of a server that is not offered, and why. */
export interface SetAside {
  readonly name: string;
  readonly reason: string;
}

interface ToolList {
  readonly tools: readonly ListedTool[];
  readonly setAside: readonly SetAside[];
}

/** How long one page of the list may take, in milliseconds. */
const listMs = 30_000;
/** A page of a list holds at least one tool, and no more than this many tools are taken. */
const maxPages = sizes.tools;

/**
 * Reads the list of a server's tools. One that cannot be used is set aside, and stops none of the others.
 * @throws Error that names the setting to check, when the server does not give its list.
 */
export async function listTools(connection: Connection<McpClient>, setting: 'url' | 'command'): Promise<ToolList> {
  const list = createList();
  const cursors = new Set<unknown>();
  let cursor: string | undefined;
  do {
    cursors.add(cursor);
    const page = await readPage(connection, cursor).catch((error: unknown) => {
      if (cursor === undefined) throw toStartFailure(error, setting);
      list.endsEarly();
      return noPage;
    });
    if (Array.isArray(page['tools'])) for (const tool of page['tools']) list.add(tool);
    const next = page['nextCursor'];
    cursor = typeof next === 'string' && next !== '' && !cursors.has(next) ? next : undefined;
  } while (cursor !== undefined && cursors.size < maxPages);
  return list.read();
}

const noPage: Readonly<Record<string, unknown>> = {};

async function readPage(
  connection: Connection<McpClient>,
  cursor: string | undefined,
): Promise<Readonly<Record<string, unknown>>> {
  const { client } = await connection.get();
  const params = cursor === undefined ? {} : { params: { cursor } };
  return rawResult(await client.request({ method: 'tools/list', ...params }, { timeout: listMs }));
}

interface OpenList {
  readonly add: (given: unknown) => void;
  readonly endsEarly: () => void;
  readonly read: () => ToolList;
}

function createList(): OpenList {
  const tools = new Map<string, ListedTool>();
  const setAside: SetAside[] = [];
  let [count, bytes, left] = [0, 0, 0];
  return {
    add: (given) => {
      count += 1;
      const read = readTool(given, count);
      if ('reason' in read) {
        if (setAside.length < sizes.tools) setAside.push(read);
        return;
      }
      const known = tools.get(read.name);
      if (known) {
        // A server that gives a page again gives nothing new.
        if (JSON.stringify(known) !== JSON.stringify(read))
          setAside.push({ name: read.name, reason: 'the server has another tool of this name' });
        return;
      }
      const own = Buffer.byteLength(JSON.stringify(read));
      if (tools.size >= sizes.tools || bytes + own > sizes.toolsTogether) {
        left += 1;
        return;
      }
      bytes += own;
      tools.set(read.name, read);
    },
    endsEarly: () =>
      void setAside.push({ name: 'all further tools', reason: 'the server did not give the rest of its list' }),
    read: () => {
      const reason = `at most ${String(sizes.tools)} tools, and ${String(sizes.toolsTogether)} bytes of JSON, are taken of a server`;
      const further = left === 0 ? [] : [{ name: `${String(left)} further tools`, reason }];
      return { tools: [...tools.values()], setAside: [...setAside, ...further] };
    },
  };
}

function readTool(given: unknown, place: number): ListedTool | SetAside {
  const members = (typeof given === 'object' && given !== null ? given : {}) as Readonly<Record<string, unknown>>;
  const { name, title, description, inputSchema, annotations } = members;
  if (typeof name !== 'string' || name === '')
    return { name: `tool ${String(place)} of the list`, reason: 'it has no name' };
  try {
    return {
      name,
      description: [description, title].find((text) => typeof text === 'string') ?? name,
      inputSchema,
      parameters: readForeignSchema(inputSchema),
      isRepeatable: isTrue(annotations, 'readOnlyHint') || isTrue(annotations, 'idempotentHint'),
    };
  } catch (error) {
    return { name, reason: error instanceof Error ? error.message : String(error) };
  }
}

const isTrue = (annotations: unknown, hint: string): boolean =>
  typeof annotations === 'object' &&
  annotations !== null &&
  (annotations as Readonly<Record<string, unknown>>)[hint] === true;
