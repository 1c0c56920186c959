import { join } from 'node:path';
import { fileSettings } from '@agent-workflow/gateway/files/settings';
import { memorySettings } from '@agent-workflow/memory/config';
import { settingReaders } from '@agent-workflow/runtime/setting-readers';
import test from 'ava';
import { withServer } from '../servers/real-suite.ts';
import { render } from './render.ts';
import { charts } from './scenarios.ts';
import { chartTools } from './tools.ts';

const small = { chartFolder: join(charts, 'agent-workflow'), values: join(charts, 'agent-workflow/values/small.yaml') };
const keda = { ...small, values: join(charts, 'agent-workflow/values/keda.yaml') };
const standalone = {
  chartFolder: join(charts, 'standalone'),
  values: join(charts, 'standalone/values/ingress.yaml'),
};
const pools = { ...small, values: join(charts, 'agent-workflow/values/pools.yaml') };
const pool = { chartFolder: join(charts, 'agent'), values: join(charts, 'agent/values/two-revisions.yaml') };
/** A part by itself, with nothing set. */
const alone = (part: string): typeof small => ({
  chartFolder: join(charts, part),
  values: join(charts, part, 'values.yaml'),
});

/** Values set on top of valid ones, and the message that refuses them. */
const refusals: readonly (readonly [about: string, on: typeof small, set: string, expected: RegExp])[] = [
  ['a misspelt value', small, 'gateway.replica=2', /gateway:\n- at '': additional properties 'replica' not allowed/],
  ['a part that there is not', small, 'gatway.replicas=2', /additional properties 'gatway' not allowed/],
  ['a value of the wrong type', small, 'threads.replicas=two', /at '\/replicas': got string, want integer/],
  ['a setting of another part', small, 'gateway.config.RUN_CONCURRENCY=4', /properties 'RUN_CONCURRENCY' not allowed/],
  ['a setting out of its range', small, 'execution.config.RUN_CONCURRENCY=0', /'\/config\/RUN_CONCURRENCY': minimum/],
  [
    'a word that a setting does not know',
    small,
    'memory.config.LOG_LEVEL=loud',
    /'\/config\/LOG_LEVEL': value must be/,
  ],
  ['a setting that the chart makes', small, 'threads.config.GRPC_PORT=1', /properties 'GRPC_PORT' not allowed/],
  [
    'resources without limits',
    small,
    'memory.resources.limits=null',
    /at '\/resources\/limits': got null, want object/,
  ],
  [
    'a memory budget above the limit of the container',
    small,
    'gateway.config.MEMORY_BUDGET_MB=600',
    /gateway: MEMORY_BUDGET_MB \(600\) is more than resources.limits.memory \(512Mi\)/,
  ],
  [
    'a budget of disruptions that lets no node be emptied',
    small,
    'gateway.podDisruptionBudget.maxUnavailable=0%',
    /'\/podDisruptionBudget\/maxUnavailable': '0%' does not match/,
  ],
  [
    'a budget of disruptions of more than all pods',
    small,
    'gateway.podDisruptionBudget.maxUnavailable=101%',
    /'\/podDisruptionBudget\/maxUnavailable': '101%' does not match/,
  ],
  ['the user root', small, 'gateway.runAsUser=0', /at '\/runAsUser': minimum/],
  ['two replicas of one process', standalone, 'replicas=2', /at '\/replicas': value must be 1/],
  [
    'services that let everyone in',
    small,
    'global.serviceToken.existingSecret=',
    /serviceToken.existingSecret must be set, or global.tls.enabled/,
  ],
  [
    'tokens without a key to check them',
    alone('gateway'),
    'global.serviceToken.existingSecret=token',
    /gateway: .* one of JWT_SECRET_KEY, .* must be set/,
  ],
  [
    'a record that is nowhere',
    alone('threads'),
    'global.serviceToken.existingSecret=token',
    /threads: CASSANDRA_CONTACT_POINTS must be set, in config or secretEnv/,
  ],
  [
    'a record on PostgreSQL that is nowhere',
    alone('threads'),
    'global.serviceToken.existingSecret=token,config.THREAD_STORE=postgres',
    /threads: POSTGRES_HOST must be set, in config or secretEnv/,
  ],
  [
    'certificates that are not used',
    small,
    'global.tls.certManager.enabled=true,global.tls.certManager.issuerRef.name=ca',
    /creates certificates that are not used/,
  ],
  [
    'certificates of nobody',
    small,
    'global.tls.enabled=true,global.tls.certManager.enabled=true',
    /issuerRef.name must be set/,
  ],
  [
    'two that scale the same pods',
    keda,
    'execution.worker.autoscaling.enabled=true',
    /keda.enabled and autoscaling.enabled both scale/,
  ],
  ['no metric of waiting runs', keda, 'execution.worker.keda.waitingMetric=', /waitingMetric'.* match/],
  [
    'more at least than at most',
    small,
    'threads.autoscaling.enabled=true,threads.autoscaling.minReplicas=20',
    /minReplicas \(20\) is more than maxReplicas \(10\)/,
  ],
  ['a route to no Gateway', small, 'gateway.httpRoute.enabled=true', /httpRoute.parentRefs must name a Gateway/],
  [
    'a setting that is set twice',
    small,
    'gateway.config.JWT_SECRET_KEY=abc',
    /JWT_SECRET_KEY is set in config and in secretEnv/,
  ],
  [
    'a setting of the chart that is set beside it',
    small,
    'threads.extraEnv[0].name=HEALTH_PORT,threads.extraEnv[0].value=1',
    /threads: HEALTH_PORT is set by the chart: it must not be in extraEnv/,
  ],
  [
    'a token that is given twice',
    small,
    'memory.secretEnv.SERVICE_TOKEN.name=a,memory.secretEnv.SERVICE_TOKEN.key=b',
    /memory: SERVICE_TOKEN is set by the chart: it must not be in secretEnv/,
  ],
  [
    'a variable that is set twice',
    small,
    'threads.extraEnv[0].name=LOG_LEVEL,threads.extraEnv[0].value=debug,threads.config.LOG_LEVEL=info',
    /threads: LOG_LEVEL is set in config and in extraEnv/,
  ],
  [
    'gateways that do not know of each other',
    alone('gateway'),
    'global.serviceToken.existingSecret=token,config.JWT_JWKS_URL=https://a/b',
    /gateway: REDIS_URL must be set, .* when there may be more than one replica/,
  ],
  [
    'files whose addresses only one replica knows',
    small,
    'gateway.config.FILES_S3_BUCKET=files',
    /gateway: FILES_SECRET must be set, in config or secretEnv, where files are stored/,
  ],
  [
    'files that each replica has to itself',
    small,
    'gateway.replicas=2,gateway.config.FILES_FOLDER=/data/files,gateway.config.FILES_SECRET=of-thirty-two-characters-or-more',
    /gateway: FILES_FOLDER needs a volume that all replicas share/,
  ],
  [
    'files in a bucket and in a folder',
    small,
    'gateway.config.FILES_S3_BUCKET=files,gateway.config.FILES_FOLDER=/data/files,gateway.config.FILES_SECRET=of-thirty-two-characters-or-more',
    /gateway: FILES_S3_BUCKET and FILES_FOLDER are both set: files are in one of them/,
  ],
  [
    'files in a bucket and in a folder of the single process',
    standalone,
    'config.FILES_FOLDER=/data/files,secretEnv.FILES_S3_BUCKET.name=a,secretEnv.FILES_S3_BUCKET.key=b',
    /standalone: FILES_S3_BUCKET and FILES_FOLDER are both set/,
  ],
  [
    'credentials from pages of every origin',
    small,
    'gateway.config.CORS_ORIGINS=*,gateway.config.CORS_CREDENTIALS=true',
    /gateway: CORS_CREDENTIALS must be false while CORS_ORIGINS is \*/,
  ],
  [
    'credentials from pages of every origin of the single process',
    standalone,
    'config.CORS_ORIGINS=https://a.example\\, *,config.CORS_CREDENTIALS=true',
    /standalone: CORS_CREDENTIALS must be false while CORS_ORIGINS is \*/,
  ],
  [
    'a larger file than the files of an owner may be together',
    small,
    'gateway.config.FILES_MAX_MB=5000',
    /gateway: FILES_QUOTA_MB \(1024\) is less than FILES_MAX_MB \(5000\): no file of that size could be stored/,
  ],
  [
    'a quota of files below the usual bound of one file',
    standalone,
    'config.FILES_QUOTA_MB=10',
    /standalone: FILES_QUOTA_MB \(10\) is less than FILES_MAX_MB \(100\)/,
  ],
  [
    'half of the keys of a bucket',
    small,
    'gateway.secretEnv.FILES_S3_ACCESS_KEY_ID.name=a,gateway.secretEnv.FILES_S3_ACCESS_KEY_ID.key=b',
    /gateway: FILES_S3_ACCESS_KEY_ID and FILES_S3_SECRET_ACCESS_KEY are set together or not at all/,
  ],
  [
    'the other half of the keys of a bucket of the single process',
    standalone,
    'config.FILES_S3_SECRET_ACCESS_KEY=a',
    /standalone: FILES_S3_ACCESS_KEY_ID and FILES_S3_SECRET_ACCESS_KEY are set together or not at all/,
  ],
  [
    'embeddings of OpenAI without a key',
    small,
    'memory.config.EMBEDDINGS_PROVIDER=openai',
    /memory: EMBEDDINGS_API_KEY must be set, in config or secretEnv, because EMBEDDINGS_PROVIDER is openai/,
  ],
  [
    'embeddings of OpenAI without a key in the single process',
    standalone,
    'config.EMBEDDINGS_PROVIDER=openai,config.EMBEDDINGS_BASE_URL=https://api.openai.com/v1',
    /standalone: EMBEDDINGS_API_KEY must be set, .* and EMBEDDINGS_BASE_URL is https:\/\/api.openai.com\/v1/,
  ],
  ['an Ingress for no host', small, 'gateway.ingress.enabled=true', /gateway: ingress.hosts must name a host/],
  [
    'labels that pods are found by',
    small,
    'gateway.podLabels.app\\.kubernetes\\.io/component=x',
    /invalid propertyName 'app.kubernetes.io\/component'/,
  ],
  ['a metric that has no name', keda, 'execution.worker.keda.underWayMetric=runs under way', /underWayMetric'.* match/],
  [
    'one agent and several',
    small,
    'global.serviceFile.agents.support=./a.ts:graph',
    /at '\/global\/serviceFile\/agent': value must be ''/,
  ],
  [
    'a default of no agents',
    standalone,
    'global.serviceFile.default_agent=support',
    /at '\/global\/serviceFile\/default_agent': value must be ''/,
  ],
  [
    'a name that no agent may have',
    standalone,
    'global.serviceFile.agents.Support=./a.ts:graph',
    /at '\/global\/serviceFile\/agents': additional properties 'Support' not allowed/,
  ],
  [
    'an agent that is no location',
    standalone,
    'global.serviceFile.agents.support.path=a.ts',
    /at '\/global\/serviceFile\/agents\/support\/path': 'a.ts' does not match pattern/,
  ],
  [
    'a default that is none of the agents',
    standalone,
    'global.serviceFile.agents.support=./a.ts:graph,global.serviceFile.default_agent=billing',
    /standalone: global.serviceFile.default_agent is "billing", which global.serviceFile.agents does not have/,
  ],
  ['a pool of nothing', alone('agent'), 'global.instance=demo', /demo: revisions must name a build of the agents/],
  ['a pool of no service', pool, 'global.instance=', /demo: global.instance must be that of the service/],
  ['a revision without agents', pool, 'agents=null', /demo: revision 1.5.0 has no agents: agents must name one/],
  ['two revisions of one name', pool, 'revisions[1].name=1.4.0', /demo: revisions has 1.4.0 twice/],
  ['a revision without a name', pool, 'revisions[1].name=null', /at '\/revisions\/1\/name': got null, want string/],
  ['a revision that is a number', pool, 'revisions[1].name=15', /at '\/revisions\/1\/name': got number, want string/],
  [
    'a name that no revision may have',
    pool,
    'revisions[1].name=a b',
    /at '\/revisions\/1\/name': 'a b' does not match pattern/,
  ],
  [
    'a revision that is no tag and names none',
    pool,
    'revisions[1].name=sha256:ab',
    /demo: revision sha256:ab cannot be the tag of an image: image.tag or image.digest must name its image/,
  ],
  [
    'a current revision that is not there',
    pool,
    'current=1.3.0',
    /demo: current is 1.3.0, which revisions does not have/,
  ],
  [
    'a name that no agent of a pool may have',
    pool,
    'agents.Support=/app/a.ts:graph',
    /at '\/agents': additional properties 'Support' not allowed/,
  ],
  [
    'agents of a pool where those of a service stand',
    pool,
    'global.serviceFile.agents.support=/app/a.ts:graph',
    /demo: the agents of a pool are below agents, not below global.serviceFile/,
  ],
  [
    'a pool that reaches no queue',
    alone('agent'),
    'global.instance=demo,global.serviceToken.existingSecret=a,agents.a=/a.ts:graph,revisions[0].name=1.4.0',
    /demo, revision 1.4.0: NATS_URL must be set, in config or secretEnv/,
  ],
  [
    'a revision that is named twice over',
    pool,
    'config.AGENT_REVISION=1.5.0',
    /at '\/config': additional properties 'AGENT_REVISION' not allowed/,
  ],
  ['a tag for all revisions', pool, 'image.tag=latest', /at '\/image': additional properties 'tag' not allowed/],
  [
    'a pool that lets anybody call it',
    pool,
    'global.serviceToken.existingSecret=',
    /demo, revision 1.4.0: global.serviceToken.existingSecret must be set, or global.tls.enabled/,
  ],
  [
    'a routing that there is not',
    pool,
    'registration.routing=ramp',
    /at '\/registration\/routing': value must be one of/,
  ],
  [
    'a pool of the same release without revisions',
    pools,
    'agents.billing.revisions=null',
    /at '\/agents\/billing\/revisions': got null, want array|missing propert(?:y|ies) 'revisions'/,
  ],
  [
    'one agent in two pools',
    pools,
    'agents.travel.agents.billing=/app/b.ts:graph',
    /agents: billing and travel both have the agent billing/,
  ],
  [
    'a pool with a token of its own and no name',
    pools,
    'agents.travel.serviceToken.existingSecret=travel-token',
    /agents: travel has a serviceToken of its own: its config.POOL must say/,
  ],
  [
    'a pool with a name and the token of the platform',
    pools,
    'agents.travel.config.POOL=travel',
    /agents: travel has config.POOL and the token of the platform, .* must name a Secret of its own/,
  ],
  [
    'a pool with a name whose token is that of the platform',
    pools,
    'agents.billing.serviceToken.existingSecret=agent-workflow-token',
    /agents: billing has config.POOL and the token of the platform/,
  ],
  [
    'a pool with a token of its own and a secret of the gateway under another name',
    pools,
    'agents.billing.secretEnv.KEY.name=agent-workflow-jwt,agents.billing.secretEnv.KEY.key=secret',
    /agents: billing has a token of its own, but its secretEnv.KEY is a secret of gateway/,
  ],
  [
    'the secret for grants in a pool of the same release',
    pools,
    'agents.travel.secretEnv.GRANT_SECRET.name=a,agents.travel.secretEnv.GRANT_SECRET.key=b',
    /demo-travel: secretEnv.GRANT_SECRET is a secret of the platform/,
  ],
  [
    'the Secret with the secret for grants in a pool of the same release',
    pools,
    'agents.travel.volumes[0].name=a,agents.travel.volumes[0].secret.secretName=agent-workflow-pools',
    /demo-travel: the Secret agent-workflow-pools is that of global.poolCredentials, which no pool may read/,
  ],
  [
    'the list of pools in a pool',
    pool,
    'config.POOL_CREDENTIALS=/a',
    /at '\/config': additional properties 'POOL_CREDENTIALS' not allowed/,
  ],
  [
    'the secret of files in a pool that has the grants of its runs',
    pool,
    'secretEnv.FILES_SECRET.name=a,secretEnv.FILES_SECRET.key=b',
    /demo: secretEnv.FILES_SECRET opens the files of every owner: with config.POOL the grants of its runs/,
  ],
  [
    'a secret of the platform in one revision of a pool',
    pool,
    'revisions[0].secretEnv.REDIS_URL.name=a,revisions[0].secretEnv.REDIS_URL.key=b',
    /demo: revision 1.4.0: secretEnv.REDIS_URL is a secret of the platform/,
  ],
  [
    'a secret of the platform beside the settings of a pool',
    pool,
    'extraEnv[0].name=JWT_SECRET_KEY,extraEnv[0].value=x',
    /demo: extraEnv.JWT_SECRET_KEY is a secret of the platform/,
  ],
  [
    'a secret of the platform in the Job of a pool',
    pool,
    'registration.secretEnv.SERVICE_TOKEN.name=a,registration.secretEnv.SERVICE_TOKEN.key=b',
    /demo: registration.secretEnv.SERVICE_TOKEN is a secret of the platform/,
  ],
  [
    'a pool that is elsewhere than its release',
    pools,
    'agents.billing.platform.namespace=x',
    /at '\/agents\/billing': additional properties 'platform' not allowed/,
  ],
  [
    'pools of no namespace',
    small,
    'global.networkPolicy.agentPools[0].podSelector.matchLabels.a=b',
    /at '\/global\/networkPolicy\/agentPools\/0': missing property 'namespace'/,
  ],
  ['an image that no registry has', small, 'global.image.digest=latest', /'\/global\/image\/digest'.* does not match/],
];

/** Settings that only parts of the service read, and that are secrets by their names; those that workers read, too, are a pool's own. */
const secretsOfPlatform = Object.entries(settingReaders)
  .filter(([name, readers]) => name === 'SERVICE_TOKEN' || !readers.includes('execution'))
  .map(([name]) => name)
  .filter((name) => /_(?:SECRET|PASSWORD|TOKEN|API_KEY|ACCESS_KEY|ACCESS_KEY_ID|SECRET_KEY)$|^REDIS_URL$/.test(name));

withServer(test, chartTools, () => {
  test.serial('refused: every secret of the platform in a pool, each named', async (t) => {
    const names = secretsOfPlatform;
    t.true(names.length >= 8, names.join());
    const more = names.flatMap((name) => ['--set', `secretEnv.${name}.name=a,secretEnv.${name}.key=b`]);
    const { message } = await t.throwsAsync(render(pool, { more }));
    for (const name of names) t.true(message.includes(`secretEnv.${name} is a secret of the platform`), name);
  });

  test.serial('the bounds of files are compared with the defaults that the process has', async (t) => {
    const [max, quota] = [fileSettings.FILES_MAX_MB.fallback, fileSettings.FILES_QUOTA_MB.fallback];
    const set = (name: string, value: number) =>
      render(standalone, { more: ['--set', `config.${name}=${String(value)}`] });
    await set('FILES_MAX_MB', quota);
    await set('FILES_QUOTA_MB', max);
    await t.throwsAsync(set('FILES_MAX_MB', quota + 1), { message: /FILES_QUOTA_MB \(\d+\) is less/ });
    await t.throwsAsync(set('FILES_QUOTA_MB', max - 1), { message: /FILES_QUOTA_MB \(\d+\) is less/ });
    const both = ['--set', 'config.FILES_MAX_MB=40000,config.FILES_QUOTA_MB=1000000000'];
    await t.notThrowsAsync(render(standalone, { more: both }));
  });

  test.serial('a memory budget up to the limit is taken, in whatever unit the limit is', async (t) => {
    for (const limit of ['512Mi', '0.5Gi', '536870912', '536871k', '0.6G'])
      await t.notThrowsAsync(
        render(small, {
          more: ['--set', `gateway.resources.limits.memory=${limit},gateway.config.MEMORY_BUDGET_MB=512`],
        }),
        limit,
      );
    for (const limit of ['511Mi', '536870911', '0.5G'])
      await t.throwsAsync(
        render(small, {
          more: ['--set', `gateway.resources.limits.memory=${limit},gateway.config.MEMORY_BUDGET_MB=512`],
        }),
        { message: /MEMORY_BUDGET_MB \(512\) is more than/ },
        limit,
      );
  });

  test.serial('origins of every page without credentials, and listed ones with them, are taken', async (t) => {
    for (const set of ['CORS_ORIGINS=*', 'CORS_ORIGINS=https://a.example,config.CORS_CREDENTIALS=true'])
      await t.notThrowsAsync(render(standalone, { more: ['--set', `config.${set}`] }));
    await t.notThrowsAsync(render(standalone, { more: ['--set', 'config.FILES_S3_BUCKET=files'] }));
  });

  test.serial('both keys of a bucket are taken from wherever they come', async (t) => {
    const key = 'secretEnv.FILES_S3_SECRET_ACCESS_KEY.name=a,secretEnv.FILES_S3_SECRET_ACCESS_KEY.key=b';
    const id = 'FILES_S3_ACCESS_KEY_ID';
    for (const set of [`config.${id}=a,${key}`, `extraEnv[0].name=${id},extraEnv[0].value=a,${key}`])
      await t.notThrowsAsync(render(standalone, { more: ['--set', set] }));
    const unknown = ['--set', `${key},extraEnvFrom[0].secretRef.name=a`];
    await t.notThrowsAsync(render(standalone, { more: unknown }), 'the other may be in the Secret');
  });

  test.serial(
    'an API of embeddings is taken with its key, and without one where it is no address that needs one',
    async (t) => {
      const url = memorySettings.EMBEDDINGS_BASE_URL.fallback;
      const set = (more: string) =>
        render(standalone, { more: ['--set', `config.EMBEDDINGS_PROVIDER=openai,${more}`] });
      for (const more of [
        'config.EMBEDDINGS_API_KEY=a',
        'secretEnv.EMBEDDINGS_API_KEY.name=a,secretEnv.EMBEDDINGS_API_KEY.key=b',
        `config.EMBEDDINGS_BASE_URL=${url},extraEnv[0].name=EMBEDDINGS_API_KEY,extraEnv[0].value=a`,
        'extraEnvFrom[0].secretRef.name=a',
        'config.EMBEDDINGS_BASE_URL=http://models:8080/v1',
        'extraEnv[0].name=EMBEDDINGS_BASE_URL,extraEnv[0].value=http://models:8080/v1',
      ])
        await t.notThrowsAsync(set(more), more);
      await t.throwsAsync(set(`config.EMBEDDINGS_BASE_URL=${url}`), { message: /EMBEDDINGS_API_KEY must be set/ });
    },
  );

  for (const [about, on, set, expected] of refusals) {
    test.serial(`refused: ${about}`, async (t) => {
      for (const helm of ['helm', 'helm3'] as const) {
        const { message } = await t.throwsAsync(render(on, { helm, more: ['--set', set] }), undefined, helm);
        t.regex(message, expected, helm);
      }
    });
  }
});
