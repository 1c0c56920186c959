import { fromLangChain, isMessage } from './from-lang-chain.ts';

/** Of a part of a stream, in bytes of its JSON. */
const mostBytes = 256 * 1024;

/** What a sub-graph streams as JSON in which messages stand as those of the service, each as `{ $message }`; `undefined` where it is large or no JSON. */
export function innerPart(mode: string, data: unknown): unknown {
  try {
    const json = JSON.stringify(shown(mode === 'tasks' ? withoutError(data) : data) ?? null);
    return Buffer.byteLength(json) > mostBytes ? undefined : (JSON.parse(json) as unknown);
  } catch {
    return undefined;
  }
}

/** What a node threw is for its author alone. */
function withoutError(data: unknown): unknown {
  const { config: _, error, ...task } = data as { readonly config?: unknown; readonly error?: unknown };
  return { ...task, ...('result' in task && { error: (error ?? null) === null ? null : { isHidden: true } }) };
}

function shown(value: unknown): unknown {
  if (isMessage(value)) {
    const id = value.id ?? '';
    return value.type === 'remove' ? { $removed: id } : { $message: { ...fromLangChain(value), message_id: id } };
  }
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name.replace(/^\$/, '$$$$'), shown(part)]));
}
