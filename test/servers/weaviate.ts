import type { Recipe } from './real-process.ts';
import { createLauncher, privately, type Launcher, type Private } from './real.ts';

export interface Weaviate {
  /** `http://host:port`, without modules; users keep to classes with a name of their own. */
  readonly url: string;
}

/**
 * Anonymous, without vectorizers, one node that waits for nobody. Only what the settings below bind stays on the loopback: the
 * ports for gRPC and for other nodes are open on all interfaces, and there is no setting for them.
 */
export const weaviateRecipe: Recipe = {
  server: 'weaviate',
  title: 'Weaviate',
  portCount: 6,
  prepare: async ({ program, data, ports }) => {
    const [port, grpc, gossip, nodes, raft, raftCalls] = ports.map(String) as [
      ...[string, string, string, string, string, string],
    ];
    return {
      command: program,
      args: ['--scheme', 'http', '--host', '127.0.0.1', '--port', port],
      env: {
        PERSISTENCE_DATA_PATH: data,
        AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED: 'true',
        DEFAULT_VECTORIZER_MODULE: 'none',
        ENABLE_MODULES: '',
        AUTOSCHEMA_ENABLED: 'false',
        GRPC_PORT: grpc,
        CLUSTER_HOSTNAME: 'node1',
        CLUSTER_BIND_ADDR: '127.0.0.1',
        CLUSTER_ADVERTISE_ADDR: '127.0.0.1',
        CLUSTER_GOSSIP_BIND_PORT: gossip,
        CLUSTER_DATA_BIND_PORT: nodes,
        RAFT_PORT: raft,
        RAFT_INTERNAL_RPC_PORT: raftCalls,
        RAFT_BOOTSTRAP_EXPECT: '1',
        // The usual timeouts are five times these: 6 s instead of 2 s until it is ready.
        RAFT_TIMEOUTS_MULTIPLIER: '1',
        DISABLE_TELEMETRY: 'true',
        GO_PROFILING_DISABLE: 'true',
        // It would refuse writes on a disk that is nearly full of other things.
        DISK_USE_READONLY_PERCENTAGE: '99',
        LOG_FORMAT: 'text',
      },
    };
  },
  isReady: async (port) => (await fetch(`http://127.0.0.1:${port}/v1/.well-known/ready`)).status === 200,
};

const reach = (port: number): Weaviate => ({ url: `http://127.0.0.1:${port}` });

/** The one at `WEAVIATE_URL`, else the one that all tests share. */
export const weaviate: Launcher<Weaviate> = createLauncher({
  recipe: weaviateRecipe,
  reach,
  given: { variable: 'WEAVIATE_URL', read: (url) => ({ url }) },
});

/**
 * One of the caller's own, to be killed and restarted. `stop` keeps everything; `kill` keeps the objects, but loses the last
 * writes from the vector index.
 */
export const privateWeaviate = (): Launcher<Private<Weaviate>> => privately({ recipe: weaviateRecipe, reach });
