import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readServiceFile, type ServiceFile } from '@agent-workflow/runtime/service-file';
import test, { type ExecutionContext } from 'ava';
import { withServer } from '../servers/real-suite.ts';
import { manifestsOf, render, type Helm } from './render.ts';
import { charts } from './scenarios.ts';
import { chartTools } from './tools.ts';

const umbrella = {
  chartFolder: join(charts, 'agent-workflow'),
  values: join(charts, 'agent-workflow/values/small.yaml'),
};
const standalone = { chartFolder: join(charts, 'standalone'), values: join(charts, 'standalone/values/ingress.yaml') };
const comesWithTheImage = '/app/services/execution/agents/default.js:graph';
const helms: readonly Helm[] = ['helm', 'helm3'];

interface Asked {
  readonly helm: Helm;
  /** Values below `global.serviceFile`. */
  readonly serviceFile: Readonly<Record<string, unknown>>;
}

/** Every `service.json` of the umbrella chart and of the standalone one, as a process reads it. */
async function serviceFiles(
  t: ExecutionContext,
  { helm, serviceFile }: Asked,
): Promise<Readonly<Record<string, ServiceFile>>> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-chart-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const more = Object.entries(serviceFile).flatMap(([name, value]) => [
    '--set-json',
    `global.serviceFile.${name}=${JSON.stringify(value)}`,
  ]);
  const rendered = await Promise.all([umbrella, standalone].map((chart) => render(chart, { helm, more })));
  const read = rendered.flatMap(manifestsOf).flatMap(async ({ metadata: { name }, data = {} }) => {
    const text = data['service.json'];
    if (text === undefined) return [];
    const path = join(folder, `${name}.json`);
    await writeFile(path, text);
    return [[name, readServiceFile(path)] as const];
  });
  return Object.fromEntries((await Promise.all(read)).flat());
}

withServer(test, chartTools, () => {
  for (const helm of helms) {
    test(`several agents reach every process that reads service.json (${helm})`, async (t) => {
      const agents = { support: '/app/a.ts:graph', billing: { path: '/app/b.ts:graph', description: 'Sends bills.' } };
      const serviceFile = { agent: '', agents, default_agent: 'billing' };
      const files = await serviceFiles(t, { helm, serviceFile });
      const readers = ['demo-execution-api-file', 'demo-execution-worker-file', 'demo-gateway-file'];
      t.deepEqual(Object.keys(files).toSorted(), [...readers, 'demo-standalone-file'].toSorted());
      for (const [name, file] of Object.entries(files)) {
        t.is(file.agent, undefined, name);
        t.is(file.defaultAgent, 'billing', name);
        t.is(file.auth, 'jwt', name);
        t.deepEqual(
          file.agents?.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
          [
            { name: 'billing', location: '/app/b.ts:graph', description: 'Sends bills.' },
            { name: 'support', location: '/app/a.ts:graph' },
          ],
          name,
        );
      }
    });
  }

  test('of several agents none is the default unless one is named', async (t) => {
    const serviceFile = { agent: '', agents: { a: './a.ts:graph', b: './b.ts:graph' } };
    for (const [name, file] of Object.entries(await serviceFiles(t, { helm: 'helm', serviceFile }))) {
      t.deepEqual([file.agents?.length, file.defaultAgent], [2, undefined], name);
    }
  });

  test('without agents it is the one that is named, else the one that comes with the image', async (t) => {
    for (const [agent, expected] of [
      ['/app/mine.ts:graph', '/app/mine.ts:graph'],
      ['', comesWithTheImage],
    ]) {
      const files = await serviceFiles(t, { helm: 'helm', serviceFile: { agent } });
      for (const [name, file] of Object.entries(files)) {
        t.deepEqual([file.agent, file.agents, file.defaultAgent], [expected, undefined, undefined], name);
      }
    }
  });
});
