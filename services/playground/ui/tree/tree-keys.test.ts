import test from 'ava';
import { moveOf } from './tree-keys.ts';

/** `0` is open and holds `1` and `2`, of which `1` is closed. `3` holds nothing. */
const shape: Parameters<typeof moveOf>[2] = {
  count: 4,
  page: 2,
  isOpen: (index) => [true, false, undefined, undefined][index],
  parentOf: (index) => [undefined, 0, 0, undefined][index],
};

test('arrows go from row to row and stay at the ends', (t) => {
  t.deepEqual(moveOf('ArrowDown', 0, shape), { kind: 'go', to: 1 });
  t.deepEqual(moveOf('ArrowDown', 3, shape), { kind: 'go', to: 3 });
  t.deepEqual(moveOf('ArrowUp', 0, shape), { kind: 'go', to: 0 });
  t.deepEqual(moveOf('PageDown', 0, shape), { kind: 'go', to: 2 });
  t.deepEqual(moveOf('End', 0, shape), { kind: 'go', to: 3 });
  t.deepEqual(moveOf('Home', 3, shape), { kind: 'go', to: 0 });
});

test('right opens, then goes in; left closes, then goes out', (t) => {
  t.deepEqual(moveOf('ArrowRight', 1, shape), { kind: 'open' });
  t.deepEqual(moveOf('ArrowRight', 0, shape), { kind: 'go', to: 1 });
  t.deepEqual(moveOf('ArrowLeft', 0, shape), { kind: 'close' });
  t.deepEqual(moveOf('ArrowLeft', 2, shape), { kind: 'go', to: 0 });
  t.is(moveOf('ArrowLeft', 3, shape), undefined);
  t.is(moveOf('ArrowRight', 3, shape), undefined);
  t.is(moveOf('x', 0, shape), undefined);
});
