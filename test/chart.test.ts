import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { charts, scenarios } from './chart/scenarios.ts';
import { conformance, goldenOf, manifestsOf, render, runHelm } from './chart/render.ts';
import { containersOf, workloadsOf } from './chart/pods.ts';
import { chartTools } from './chart/tools.ts';
import { writeKubeSchemas } from './chart/kube-schemas.ts';
import { provisioned } from './servers/provisioned.ts';
import { withServer } from './servers/real-suite.ts';

test('every scenario has a render that was looked at, and no other render lies about', async (t) => {
  const renders = await readdir(join(goldenOf({ title: '', chart: '', chartFolder: '', values: '' }), '..'));
  t.deepEqual(renders.toSorted(), scenarios.map(({ title }) => `${title}.yaml`).toSorted());
  t.true(scenarios.length >= 6);
});

withServer(test, chartTools, () => {
  let schemas = '';
  test.before(async () => {
    schemas = await mkdtemp(join(tmpdir(), 'agent-workflow-schemas-'));
    await writeKubeSchemas(provisioned('apis') ?? '', schemas);
  });
  test.after.always(async () => rm(schemas, { recursive: true, force: true }));

  for (const scenario of scenarios) {
    const { title, chartFolder, values } = scenario;

    test.serial(`${title}: both Helms find nothing to object to, however small`, async (t) => {
      for (const helm of ['helm', 'helm3'] as const)
        await t.notThrowsAsync(
          runHelm(helm, ['lint', '--strict', '--with-subcharts', chartFolder, '--values', values]),
          helm,
        );
    });

    test.serial(`${title}: renders as it was looked at, with both Helms (\`npm run charts\` writes it)`, async (t) => {
      const golden = await readFile(goldenOf(scenario), 'utf8');
      t.is(await render(scenario), golden);
      t.deepEqual(byName(await render(scenario, { helm: 'helm3' })), byName(golden));
    });

    test.serial(`${title}: Kubernetes and its extensions know every field of it`, async (t) => {
      const rendered = await readFile(goldenOf(scenario), 'utf8');
      const { summary, resources } = await conformance(rendered, schemas);
      t.deepEqual(resources, []);
      t.deepEqual(summary, { valid: manifestsOf(rendered).length, invalid: 0, errors: 0, skipped: 0 });
    });
  }

  test.serial('the umbrella chart is whole when it is packed: nothing of it is fetched from elsewhere', async (t) => {
    const packed = await mkdtemp(join(tmpdir(), 'agent-workflow-packed-'));
    t.teardown(() => rm(packed, { recursive: true }));
    const [scenario] = scenarios;
    if (!scenario) return t.fail();
    await runHelm('helm', ['package', scenario.chartFolder, '--destination', packed]);
    const [file = ''] = await readdir(packed);
    t.is(await render({ ...scenario, chartFolder: join(packed, file) }), await readFile(goldenOf(scenario), 'utf8'));
  });

  test.serial('what the operator’s pages install is what the charts take', async (t) => {
    const page = await operatorsPages();
    const commands = [...page.matchAll(/^helm .*?install (.*?)(?: --wait)?$/gm)].map(([, words = '']) =>
      words.split(' '),
    );
    t.true(commands.length >= 2);
    for (const words of commands) {
      const named = words.map((word) => word.replace(/^deploy\/charts/, charts));
      t.true(manifestsOf(await runHelm('helm', ['template', ...named])).length > 5, words.join(' '));
    }
  });

  test.serial(
    'the objects that the operator’s pages show are such as Kubernetes and its extensions know',
    async (t) => {
      const shown = (await shownYaml()).filter((block) => !isValues(block));
      t.true(shown.length >= 2);
      for (const block of shown) t.deepEqual((await conformance(block, schemas)).resources, [], block);
      const jobs = workloadsOf(shown.flatMap(manifestsOf));
      for (const job of jobs)
        for (const { resources, name } of containersOf(job))
          t.deepEqual(Object.keys(resources).toSorted(), ['limits', 'requests'], `${job.name} ${name}`);
      t.true(jobs.length > 0);
    },
  );

  test.serial('the values that the operator’s pages show are such as the charts take', async (t) => {
    const shown = (await shownYaml()).filter(isValues);
    t.true(shown.length > 0);
    const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-values-'));
    t.teardown(() => rm(folder, { recursive: true }));
    for (const block of shown) {
      const values = join(folder, 'values.yaml');
      await writeFile(values, block);
      const standalone = [join(charts, 'standalone'), '--values', join(charts, 'standalone/values/ingress.yaml')];
      const chart = /^revisions:/m.test(block) ? [join(charts, 'agent')] : standalone;
      t.true(manifestsOf(await runHelm('helm', ['template', ...chart, '--values', values])).length > 5, block);
    }
  });

  test.serial('a field that Kubernetes does not know, and a value of the wrong type, are found', async (t) => {
    const pod = 'apiVersion: v1\nkind: Service\nmetadata: { name: a }\nspec: { ports: [{ port: 80 }] }\n';
    t.is((await conformance(pod, schemas)).summary.valid, 1);
    for (const broken of ['prot: 80', 'port: eighty', 'port: 80, nodeport: 1'])
      t.is((await conformance(pod.replace('port: 80', broken), schemas)).summary.invalid, 1, broken);
    t.is((await conformance(pod.replace('Service', 'Servise'), schemas)).summary.errors, 1);
  });
});

/** Helm 3 and 4 do not agree on an order. */
const byName = (rendered: string): Readonly<Record<string, unknown>> =>
  Object.fromEntries(manifestsOf(rendered).map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, manifest]));

/** All that `deploy/guide` says. */
async function operatorsPages(): Promise<string> {
  const guide = join(charts, '../guide');
  const pages = (await readdir(guide)).toSorted().map((name) => readFile(join(guide, name), 'utf8'));
  return (await Promise.all(pages)).join('\n');
}

/** The blocks of YAML on the operator’s pages. */
async function shownYaml(): Promise<readonly string[]> {
  const page = await operatorsPages();
  return [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block = '']) => block);
}

/** Whether a block is values of a chart, and no object. */
const isValues = (block: string): boolean => block.startsWith('global:');
