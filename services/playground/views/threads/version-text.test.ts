import type { Checkpoint } from '@agent-workflow/client';
import test from 'ava';
import { versionBefore, versionFacts, versionTitle } from './version-text.ts';

const version = (parts: Partial<Checkpoint>): Checkpoint => ({
  ...{ checkpoint_id: '1', thread_id: 't', source: 'step', run_id: null, step: 3, nodes: [], next: [] },
  ...{ metadata: null, created_at: '2026-01-01T00:00:00Z' },
  ...parts,
});

test('a step is called by its nodes, and anything else by where it came from', (t) => {
  const step = version({ nodes: ['look', 'ask'], next: ['report'] });
  t.is(versionTitle(step), 'look, ask');
  t.is(versionFacts(step), 'Step 3 · next: report');
  const write = version({ source: 'update', step: null });
  t.is(versionTitle(write), 'Direct write');
  t.is(versionFacts(write), '');
  const stopped = version({ nodes: [] });
  t.is(versionTitle(stopped), 'Stopped answer');
  t.is(versionFacts(stopped), 'Step 3');
});

test('the version before is the next of the list', (t) => {
  const versions = [version({ checkpoint_id: '2' }), version({ checkpoint_id: '1' })];
  t.is(versionBefore(versions, '2'), '1');
  t.is(versionBefore(versions, '1'), undefined);
});
