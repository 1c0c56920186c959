import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { unreadSettings } from '@agent-workflow/runtime/unread-settings';
import { parts, root } from './generator/settings.ts';
import { programs, toBuilt } from './pack/packages.ts';

test('compose.yaml sets variables that the process reads, and its commands are programs of the image', async (t) => {
  const { services } = parse(await readFile(join(root, 'deploy/compose.yaml'), 'utf8'), { merge: true }) as Compose;
  const ours = Object.entries(services).filter(([, { build }]) => build !== undefined);
  t.deepEqual(ours.map(([name]) => name).toSorted(), [
    'execution',
    'gateway',
    'memory',
    'migrate',
    'threads',
    'worker',
  ]);
  for (const [name, { environment = {}, command = [] }] of ours) {
    const kind = parts.find((part) => command[0]?.split('/').includes(part)) ?? name;
    t.deepEqual(unreadSettings(kind, environment), [], name);
    for (const file of command) t.true(programs.map(toBuilt).includes(file), file);
    t.is(environment['METRICS_PORT'], '9464', name);
  }
});

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly build?: object;
        readonly environment?: Readonly<Record<string, string>>;
        readonly command?: readonly string[];
      }
    >
  >;
}
