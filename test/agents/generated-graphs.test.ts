import { textOf, type Message } from '@agent-workflow/graph';
import { toolResult, user, walk, type Walked } from '@agent-workflow/graph/testing';
import test from 'ava';
import fc from 'fast-check';
import { buildGraph, generatedSpec, otherText } from './generated-graphs.ts';

/** What was published of one message: its place among all chunks, its text and its blocks. */
interface Published {
  readonly first: number;
  text: string;
  blocks: number;
}

function publishedIn({ events }: Walked): Map<string, Published> {
  const published = new Map<string, Published>();
  for (const [first, event] of events.entries()) {
    if (event.event !== 'messages_chunk') continue;
    const { message_id: id, data } = event;
    const before = published.get(id) ?? { first, text: '', blocks: 0 };
    published.set(id, before);
    if (typeof data === 'string') before.text += data;
    else before.blocks += 1;
  }
  return published;
}

const sawIn = (message: Message): readonly string[] => /\[(.*?)\]/.exec(textOf(message))?.[1]?.split(',') ?? [];

const authorIds = ['a', 'b'];
const isStreamed = ({ message_id: id, content }: Message): boolean => content.length > 0 && !authorIds.includes(id);

/**
 * @throws Error when a step published something that is not the beginning of its message, or too late. `before` is the walk before it,
 * `earlier` what any walk before published: messages that a step held are whole in a later one.
 */
function checkStep(before: Walked, given: readonly Message[], walked: Walked, earlier: Set<string>): void {
  const published = publishedIn(walked);
  const known = new Set([...before.state.context, ...given].map(({ message_id: id }) => id));
  const made = walked.state.context.filter(({ message_id: id }) => !known.has(id));
  const waited = new Set(made.filter(isStreamed).map(({ message_id: id }) => id));
  for (const id of earlier) waited.delete(id);
  for (const message of made) {
    const own = published.get(message.message_id);
    if (!own) continue;
    const text = textOf(message);
    if (!text.startsWith(otherText) && !text.startsWith(own.text))
      throw new Error(`"${own.text}" does not begin "${text}"`);
    const late = sawIn(message).find((id) => waited.has(id) && (published.get(id)?.first ?? Infinity) > own.first);
    if (late !== undefined) throw new Error(`what "${text}" saw is published after it: ${late}`);
  }
  for (const id of published.keys()) earlier.add(id);
}

/** What the caller gives to go on with a walk: answers to all that it waits for. */
const answersTo = ({ ended, openCalls, interrupts }: Walked) => ({
  context: ended === 'waiting' ? openCalls.map((call) => toolResult(call, 'came back')) : [],
  answers: Object.fromEntries(interrupts.map(({ id }) => [id, 'yes'])),
});

test('what a node saw is published before what it says, in whichever graphs the two stand', async (t) => {
  await fc.assert(
    fc.asyncProperty(generatedSpec, async (spec) => {
      const graph = buildGraph(spec);
      let walked = await walk(graph, { context: [user('go')], maxSteps: 0 });
      const earlier = new Set<string>();
      while (walked.ended !== 'done') {
        const given = answersTo(walked);
        const next = await walk(graph, { ...given, from: walked, maxSteps: 1 });
        checkStep(walked, given.context, next, earlier);
        walked = next;
      }
    }),
    { numRuns: 300 },
  );
  t.pass();
});
