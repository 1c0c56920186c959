import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { streamDifferences } from './frames.ts';
import { serveLangGraph } from './service.ts';
import { differences, noteIds, withOurIds } from './shape.ts';

/** A request to LangGraph Server (PyPI `langgraph-api` 0.16.7), and what it replied. */
interface Recorded {
  readonly name: string;
  readonly request: { readonly method: string; readonly path: string; readonly body: unknown };
  readonly response: {
    readonly status: number;
    readonly body?: unknown;
    /** The frames of a stream. */
    readonly sse?: string;
    readonly cut_by_client?: boolean;
  };
}

const recordings = readFileSync(new URL('recordings.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded);

const service = serveLangGraph(test);

/** What is not served yet. */
const later = /\/threads\/[^/]*\/stream|\/metrics|\/openapi|\/mcp|\/\.well-known|\/a2a/;

const startsStream = /\/runs\/stream$/;

/** What lacks in ours on purpose, by its path, and why. */
const left: readonly (readonly [path: RegExp, why: string])[] = [
  [/configurable\.(?:langgraph_|__)|metadata\.(?:langgraph_|run_attempt)/, 'is of the inside of LangGraph Server'],
  [
    /(?:configurable|metadata)\.user_id|config\.metadata\.|metadata\.created_by/,
    'the owner is in no reply but that of a cron',
  ],
  [/langgraph_py_version/, 'no graph runs on Python'],
  [/_schema\./, 'fields have the schemas that their graph gives them, and messages a short one'],
  [/content: array, not string$/, 'a schedule keeps its messages in blocks'],
  [/\.metadata\.project: absent$/, 'what the thread is known by is not in the frames of its runs'],
  [/on_chat_model_(?:start|end)\.data\.input: absent$/, 'what a model was sent is for operators'],
  [/^events .*\.metadata\.(?:ls_|lc_)/, 'is about the Python packages and LangSmith'],
  [/interrupts\.[0-9a-f-]{36}: absent$/, 'the id of a task is another one'],
];

/** Where ours differ otherwise, and why: the name of a recording, with what is found. */
const known: Readonly<Record<string, RegExp>> = {
  // A run is kept as long as its thread.
  'run delete': /status 422, not 204/,
  'run get deleted': /status 200, not 404/,
  // It is done here.
  'thread prune keep latest': /status 200, not 422/,
  // What a run began with is not repeated at its end, and its messages are whole from the first.
  'run stream events': /on_chain_start\.data\.input\.messages\[0\]\.role|on_chain_end\.data\.input: absent/,
  // Whole messages are sent there, too, as the other server of theirs does.
  'run stream messages': /messages\/complete/,
  // A stream that is joined begins with its first event.
  'run join stream from the start': /frames metadata, values, not values/,
  // The time is what that graph adds.
  'run stream updates+custom': /custom\.at/,
};

/** Waits until the thread of a state asks something: there a stream of its run was read before. */
async function whenAsked(path: string): Promise<void> {
  for (;;) {
    const { body } = await service.send('GET', path);
    if ((body as { readonly interrupts?: readonly unknown[] }).interrupts?.length === 1) return;
    await delay(20);
  }
}

test('each recorded request has a reply of the same status and shape', async (t) => {
  const ids = new Map<string, string>();
  const found: Record<string, readonly string[]> = {};
  let compared = 0;
  for (const { name, request, response } of recordings) {
    if (later.test(request.path)) continue;
    // What was cut is not comparable, but its run is what later requests are about.
    const path = withOurIds(request.path, ids).replace(startsStream, response.cut_by_client === true ? '/runs' : '$&');
    const body = request.body === null ? undefined : withOurIds(JSON.stringify(request.body), ids);
    const given = typeof request.body === 'string' ? request.body : body;
    if (name === 'v2 state get') await whenAsked(path);
    const ours = await service.send(request.method, path, given);
    if (response.cut_by_client === true) continue;
    noteIds(response.body, ours.body, ids);
    compared += 1;
    const shape =
      response.sse === undefined ? differences(response.body, ours.body) : streamDifferences(response.sse, ours.text);
    const all = [
      ...(ours.status === response.status
        ? []
        : [`status ${String(ours.status)}, not ${String(response.status)}: ${ours.text.slice(0, 200)}`]),
      // A refusal that is a text, and no object, is as it was recorded.
      ...(response.status >= 400 && typeof response.body === 'string' && response.body !== ours.body
        ? [`${ours.text.slice(0, 200)}, not ${response.body}`]
        : []),
      ...(response.status < 400 && response.status !== 204 && ours.status < 400 ? shape : []),
    ];
    const unexplained = all.filter((each) => !left.some(([path]) => path.test(each)) && !known[name]?.test(each));
    if (unexplained.length > 0) found[name] = unexplained;
    if (all.length === unexplained.length && known[name]) found[name] = ['is as recorded'];
  }
  t.deepEqual(found, {});
  t.log(`${String(compared)} of ${String(recordings.length)} recorded requests compared`);
  t.true(compared >= 70);
});
