import test from 'ava';
import { isSingle, nameOf, signsOf } from './key-names.ts';

const pressed = (key: string, held: object = {}): string =>
  nameOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held });

test('a press is named by its key and what is held with it', (t) => {
  t.is(pressed('j'), 'j');
  t.is(pressed('J', { shiftKey: true }), 'shift+j');
  t.is(pressed('?', { shiftKey: true }), '?');
  t.is(pressed('k', { metaKey: true }), 'mod+k');
  t.is(pressed('Enter', { ctrlKey: true }), 'mod+Enter');
  t.is(pressed('Tab', { shiftKey: true }), 'shift+Tab');
});

test('a shortcut with ⌘ or Ctrl, and Escape, are no single keys', (t) => {
  t.true(isSingle('j'));
  t.true(isSingle('g c'));
  t.false(isSingle('mod+k'));
  t.false(isSingle('Escape'));
});

test('keys are written as the keyboard of the reader has them', (t) => {
  t.deepEqual(signsOf('mod+k', true), ['⌘K']);
  t.deepEqual(signsOf('mod+k', false), ['Ctrl+K']);
  t.deepEqual(signsOf('g c', false), ['G', 'C']);
  t.deepEqual(signsOf('ArrowDown', false), ['↓']);
  t.deepEqual(signsOf('shift+x', false), ['Shift+X']);
});
