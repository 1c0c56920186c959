import test from 'ava';
import fc from 'fast-check';
import type { Block } from '@agent-workflow/protos/message';
import { allChunksPublished, nothingPublished, unpublishedChunks } from './published.ts';

const block = fc.oneof(
  fc.string().map((text): Block => ({ type: 'text', text })),
  fc.integer().map((id): Block => ({ type: 'image', id })),
);

const textOf = (chunks: readonly unknown[]): string => chunks.filter((chunk) => typeof chunk === 'string').join('');
const blocksOf = (chunks: readonly unknown[]): unknown[] => chunks.filter((chunk) => typeof chunk !== 'string');

test('what is published of a message and what is not make the whole message, wherever it is cut', (t) => {
  fc.assert(
    fc.property(fc.array(block), fc.nat(40), fc.nat(6), (content, characters, blocks) => {
      const whole = unpublishedChunks({ content }, nothingPublished);
      const rest = unpublishedChunks({ content }, { characters, blocks, whole: false });
      t.is(textOf(rest), textOf(whole).slice(characters));
      t.deepEqual(blocksOf(rest), blocksOf(whole).slice(blocks));
    }),
  );
});

test('no chunk is left of a message whose chunks are all published', (t) => {
  t.deepEqual(unpublishedChunks({ content: [{ type: 'text', text: 'a' }, { type: 'image' }] }, allChunksPublished), []);
});
