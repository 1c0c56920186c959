/** A run of characters of one kind, as a grammar names it: `keyword`, `string`; `undefined` is plain. */
export type CodePart = readonly [kind: string | undefined, text: string];

/** What is asked of the worker, and what it answers with: `parts` is absent where it knows no grammar of that name. */
export interface HighlightRequest {
  readonly id: number;
  readonly language: string;
  readonly code: string;
}
export interface HighlightReply {
  readonly id: number;
  readonly parts?: readonly CodePart[];
}

/** A longer text stays plain: all of it is drawn as elements. */
const maxCharacters = 32 * 1024;

/** How long the worker may take for one text, in milliseconds. The grammars are regular expressions, which a hostile text may hold up for ever. */
const maxMs = 1000;

interface Running {
  readonly worker: Worker;
  readonly waiting: Map<number, (parts: readonly CodePart[] | undefined) => void>;
}

let running: Running | undefined;
let asked = 0;

/** Starts the worker with the first text that is asked for. */
function start(): Running {
  const worker = new Worker(new URL('./highlight-worker.ts', import.meta.url), { type: 'module' });
  const waiting: Running['waiting'] = new Map();
  const made = { worker, waiting };
  worker.onmessage = ({ data: { id, parts } }: MessageEvent<HighlightReply>) => {
    waiting.get(id)?.(parts);
    waiting.delete(id);
  };
  // What cannot be read stays plain.
  worker.onerror = () => end(made);
  return made;
}

function end({ worker, waiting }: Running): void {
  worker.terminate();
  for (const answer of waiting.values()) answer(undefined);
  if (running?.worker === worker) running = undefined;
}

/**
 * Parts a text of code by what its characters are, in a worker: the page answers meanwhile, whatever the text is. `undefined` where the
 * language is not known, the text is too long, or it takes more than a second.
 */
export async function highlight(language: string, code: string): Promise<readonly CodePart[] | undefined> {
  if (language === '' || code.length > maxCharacters) return undefined;
  const at = (running ??= start());
  const id = ++asked;
  const { promise, resolve } = Promise.withResolvers<readonly CodePart[] | undefined>();
  at.waiting.set(id, resolve);
  at.worker.postMessage({ id, language, code } satisfies HighlightRequest);
  const timer = setTimeout(() => end(at), maxMs);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
