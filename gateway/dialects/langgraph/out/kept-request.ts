import type { RunInput } from '../schemas/runs.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The fields of a request that its run shows. */
const shownFields = [
  ...(['input', 'command', 'context', 'metadata', 'stream_mode', 'interrupt_before', 'interrupt_after'] as const),
  ...(['webhook', 'on_completion', 'stream_subgraphs', 'stream_resumable', 'checkpoint_during'] as const),
  ...(['durability', 'multitask_strategy'] as const),
];

type ShownRequest = Pick<RunInput, (typeof shownFields)[number]>;

/** What the request that starts a run says of it. */
export interface Started {
  readonly body: ShownRequest;
  readonly assistantId: string;
  /** The config that its nodes get. */
  readonly config: JsonObject;
  /** What the request had, too, and was too large to be kept. */
  readonly leftOut?: readonly string[];
}

/** What is left out of a request that is too large, in this order. */
const mayBeLeftOut = [
  'input',
  'command',
  'context',
  'config',
  'interrupt_before',
  'interrupt_after',
  'metadata',
] as const;

/** What is kept of a request so that its run can be shown as its start showed it, of at most so many bytes of JSON. */
export function toKeptRequest({ body, assistantId, config }: Started, mostBytes: number): JsonObject {
  let shown: Record<string, unknown> = {};
  for (const name of shownFields) if (body[name] !== undefined) shown[name] = body[name];
  let kept: JsonObject = { assistant_id: assistantId, config, body: shown };
  const leftOut: string[] = [];
  for (const name of mayBeLeftOut) {
    if (Buffer.byteLength(JSON.stringify(kept)) <= mostBytes) break;
    if (name !== 'config' && shown[name] === undefined) continue;
    leftOut.push(name);
    const { [name]: _, ...rest } = shown;
    shown = rest;
    kept = { ...kept, body: shown, ...(name === 'config' && { config: {} }), left_out: leftOut };
  }
  return kept;
}

/** The same as it was kept; `undefined` for what is none. */
export function fromKeptRequest(kept: unknown): Started | undefined {
  if (!isObject(kept)) return undefined;
  const { assistant_id: assistantId, config, body, left_out: leftOut } = kept;
  if (typeof assistantId !== 'string' || !isObject(config) || !isObject(body)) return undefined;
  return { assistantId, config, body, ...(Array.isArray(leftOut) && { leftOut: leftOut as string[] }) };
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
