import test from 'ava';
import { createBoard, readBoard } from './board.ts';

test('a board tells its reader the runs that have a line, with the nodes of their steps', (t) => {
  const board = createBoard(2);
  const reader = readBoard(board.memory);
  t.deepEqual(reader.entries(), []);
  const first = board.take('run-1');
  const second = board.take('run-2');
  first?.write(['agent']);
  first?.write(['search', 'änderung']);
  t.deepEqual(reader.entries(), [
    { runId: 'run-1', nodes: 'search, änderung' },
    { runId: 'run-2', nodes: '' },
  ]);
  first?.free();
  second?.write(['tools']);
  t.deepEqual(reader.entries(), [{ runId: 'run-2', nodes: 'tools' }]);
});

test('a run for which there is no line goes without, until another has given its own back', (t) => {
  const board = createBoard(1);
  const first = board.take('run-1');
  first?.write(['agent']);
  t.is(board.take('run-2'), undefined);
  first?.free();
  t.truthy(board.take('run-3'));
  t.deepEqual(readBoard(board.memory).entries(), [{ runId: 'run-3', nodes: '' }]);
});

test('names that are longer than a line are cut, and spoil no other line', (t) => {
  const board = createBoard(2);
  const first = board.take('x'.repeat(500));
  board.take('run-2')?.write(['agent']);
  first?.write(['ü'.repeat(500), 'more']);
  const [cut, whole] = readBoard(board.memory).entries();
  t.regex(cut?.runId ?? '', /^x{63}$/);
  t.regex(cut?.nodes ?? '', /^ü{95}$/);
  t.deepEqual(whole, { runId: 'run-2', nodes: 'agent' });
});

test('a board counts the turns of the loop, and says whether a debugger may hold it', (t) => {
  const board = createBoard(1);
  const reader = readBoard(board.memory);
  board.turn(false);
  board.turn(true);
  t.is(reader.turns(), 2);
  t.true(reader.isDebugged());
  board.turn(false);
  t.false(reader.isDebugged());
});
