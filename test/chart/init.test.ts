import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { parse } from 'yaml';
import { withServer } from '../servers/real-suite.ts';
import { manifestsOf, render } from './render.ts';
import { root } from './root.ts';
import { charts } from './scenarios.ts';
import { chartTools } from './tools.ts';

const command = join(root, 'services/command/main.ts');

interface ProjectValues {
  readonly global: object;
}

withServer(test, chartTools, () => {
  for (const language of ['ts', 'js'] as const)
    for (const helm of ['helm', 'helm3'] as const)
      test(`the values of a new project in ${language} are those of the chart standalone (${helm})`, async (t) => {
        const folder = await mkdtemp(join(tmpdir(), 'project-values-'));
        t.teardown(() => rm(folder, { recursive: true }));
        const project = join(folder, '2024');
        await promisify(execFile)(process.execPath, [command, 'init', project, ...(language === 'js' ? ['--js'] : [])]);
        const values = join(project, 'values.yaml');
        const rendered = await render({ chartFolder: join(charts, 'standalone'), values }, { helm });
        const images = [...rendered.matchAll(/^ *(?:- )?image: (.*)$/gm)].map(([, image]) => image);
        t.deepEqual([...new Set(images)], ['2024:0.1.0']);
        const file = manifestsOf(rendered).find(({ data }) => data?.['service.json'] !== undefined)?.data;
        t.like(JSON.parse(file?.['service.json'] ?? ''), { agent: `/app/agents/2024/agent.${language}:graph` });

        const shared = join(folder, 'global.json');
        await writeFile(
          shared,
          JSON.stringify({ global: (parse(await readFile(values, 'utf8')) as ProjectValues).global }),
        );
        const small = join(charts, 'agent-workflow/values/small.yaml');
        const whole = await render(
          { chartFolder: join(charts, 'agent-workflow'), values: small },
          { helm, more: ['--values', shared] },
        );
        t.regex(whole, /image: 2024:0\.1\.0$/m);
      });
});
