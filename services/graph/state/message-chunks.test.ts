import test from 'ava';
import fc from 'fast-check';
import type { Block } from '@agent-workflow/protos/message';
import { chunksOf, publishedPart } from './message-chunks.ts';

const block = fc.oneof(
  fc.string().map((text): Block => ({ type: 'text', text })),
  fc.string().map((text): Block => ({ type: 'reasoning', text })),
  fc.integer().map((id): Block => ({ type: 'image', id })),
);

const textOf = (chunks: readonly unknown[]): string => chunks.filter((chunk) => typeof chunk === 'string').join('');
const isThought = (chunk: unknown): chunk is Block => (chunk as Partial<Block>).type === 'reasoning';
const reasoningOf = (chunks: readonly unknown[]): string =>
  chunks
    .filter(isThought)
    .map(({ text }) => text)
    .join('');
const blocksOf = (chunks: readonly unknown[]): unknown[] =>
  chunks.filter((chunk) => typeof chunk !== 'string' && !isThought(chunk));

test('what is published of a message and what is not make the whole message, wherever it is cut', (t) => {
  fc.assert(
    fc.property(fc.array(block), fc.nat(40), fc.nat(40), fc.nat(6), (content, characters, reasoning, blocks) => {
      const whole = chunksOf({ content });
      const rest = chunksOf({ content }, { characters, reasoning, blocks });
      t.is(textOf(rest), textOf(whole).slice(characters));
      t.is(reasoningOf(rest), reasoningOf(whole).slice(reasoning));
      t.deepEqual(blocksOf(rest), blocksOf(whole).slice(blocks));
    }),
  );
});

test('a message that goes on where a published one ends has the rest as its chunks, and any other message none', (t) => {
  const further = (content: readonly Block[], begun: readonly Block[]) =>
    chunksOf({ content }, publishedPart({ content }, { content: begun }));
  fc.assert(
    fc.property(fc.array(block), fc.array(block), (begun, more) => {
      const whole = [...begun, ...more];
      const chunks = further(whole, begun);
      t.is(textOf(chunks), textOf(chunksOf({ content: more })));
      t.is(reasoningOf(chunks), reasoningOf(chunksOf({ content: more })));
      t.deepEqual(blocksOf(chunks), blocksOf(chunksOf({ content: more })));
    }),
  );
  const text = (word: string) => [{ type: 'text', text: word }];
  t.deepEqual(further(text('Something else'), text('Some words')), []);
});
