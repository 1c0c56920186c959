import test from 'ava';
import { isSending } from './enter-sends.ts';

const plain = { key: 'Enter', shiftKey: false, altKey: false, isComposing: false };

test('Enter sends, and breaks the line with Shift or Alt', (t) => {
  t.true(isSending(plain));
  t.false(isSending({ ...plain, shiftKey: true }));
  t.false(isSending({ ...plain, altKey: true }));
  t.false(isSending({ ...plain, key: 'a' }));
});

test('Enter that ends the composition of a sign sends nothing, however the browser tells of it', (t) => {
  t.false(isSending({ ...plain, isComposing: true }));
  t.false(isSending(plain, 4));
  t.true(isSending(plain, 400));
});
