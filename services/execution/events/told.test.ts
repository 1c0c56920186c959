import test from 'ava';
import fc from 'fast-check';
import type { Block } from '@agent-workflow/protos/message';
import { allPiecesTold, nothingTold, untoldPieces } from './told.ts';

const block = fc.oneof(
  fc.string().map((text): Block => ({ type: 'text', text })),
  fc.integer().map((id): Block => ({ type: 'image', id })),
);

const textOf = (pieces: readonly unknown[]): string => pieces.filter((piece) => typeof piece === 'string').join('');
const blocksOf = (pieces: readonly unknown[]): unknown[] => pieces.filter((piece) => typeof piece !== 'string');

test('what was told and what is still to be told are the message, wherever it was cut', (t) => {
  fc.assert(
    fc.property(fc.array(block), fc.nat(40), fc.nat(6), (content, characters, blocks) => {
      const whole = untoldPieces({ content }, nothingTold);
      const rest = untoldPieces({ content }, { characters, blocks, whole: false });
      t.is(textOf(rest), textOf(whole).slice(characters));
      t.deepEqual(blocksOf(rest), blocksOf(whole).slice(blocks));
    }),
  );
});

test('nothing is left of a message whose pieces were all streamed', (t) => {
  t.deepEqual(untoldPieces({ content: [{ type: 'text', text: 'a' }, { type: 'image' }] }, allPiecesTold), []);
});
