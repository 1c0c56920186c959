import { readFile } from 'node:fs/promises';
import { goldenOf, manifestsOf, release, type Manifest } from './render.ts';
import { scenarios, type Scenario } from './scenarios.ts';

/** A service with which a pool of workers is looked at together, and the namespace of each where it is another one than renders have. */
interface Beside {
  readonly service: string;
  readonly serviceNamespace?: string;
  readonly poolNamespace?: string;
}

/** By the title of the pool's scenario. */
const besides: Readonly<Record<string, Beside>> = {
  'agent-keda': { service: 'agent-workflow-production' },
  'agent-two-revisions': {
    service: 'agent-workflow-pools',
    serviceNamespace: 'agent-workflow',
    poolNamespace: 'support-team',
  },
};

/** The renders that were looked at. A pool stands beside a service, which it calls. */
export async function readRenders(): Promise<
  readonly { readonly title: string; readonly manifests: readonly Manifest[] }[]
> {
  return Promise.all(
    scenarios.map(async (scenario) => {
      const { title, chart } = scenario;
      if (chart !== 'agent') return { title, manifests: manifestsOf(await readGolden(scenario)) };
      const beside = besides[title];
      const service = scenarios.find((one) => one.title === beside?.service);
      if (!service) throw new Error(`${title}: no service is named that the pool stands beside`);
      const texts = [
        inNamespace(await readGolden(service), beside?.serviceNamespace),
        inNamespace(await readGolden(scenario), beside?.poolNamespace),
      ];
      return { title, manifests: texts.flatMap(manifestsOf) };
    }),
  );
}

const readGolden = async (scenario: Scenario): Promise<string> => readFile(goldenOf(scenario), 'utf8');

/** The render as it is in another namespace. */
const inNamespace = (text: string, namespace: string = release.namespace): string =>
  text
    .replaceAll(`namespace: ${release.namespace}\n`, `namespace: ${namespace}\n`)
    .replaceAll(`.${release.namespace}.svc`, `.${namespace}.svc`);
