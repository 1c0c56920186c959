import test from 'ava';
import { sharedPath } from './shared-path.ts';

test('what is of a thread, its runs and its files is by the share', (t) => {
  const paths = {
    '/v1/threads/id.YWRh': '',
    '/v1/threads/id.YWRh/messages?limit=100': '/messages?limit=100',
    '/v1/runs': '/runs',
    '/v1/runs/r1/stream': '/runs/r1/stream',
    '/v1/runs/r1/cancel': '/runs/r1/cancel',
    '/v1/graph/stream': '/stream',
    '/v1/files/f1/info': '/files/f1/info',
  };
  for (const [path, at] of Object.entries(paths)) t.is(sharedPath(path, 'id.YWRh'), `/v1/shared/id.YWRh${at}`, path);
});

test('what is of no thread stays where it is', (t) => {
  for (const path of ['/v1/agents', '/v1/graph:StateSchema', '/v1/shared', '/v1/runsome'])
    t.is(sharedPath(path, 'id.YWRh'), path);
});
