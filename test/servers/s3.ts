import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { Recipe } from './real-process.ts';
import { createLauncher, privately, type Launcher, type Private } from './real.ts';

export interface S3 {
  /** `http://host:port`; users make buckets with a name of their own. */
  readonly url: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const keys = { accessKeyId: 'tests', secretAccessKey: 'secret-of-tests' };

/** A server of S3 whose buckets are folders; what is written of an upload in parts stands beside them. */
export const s3Recipe: Recipe = {
  server: 'versitygw',
  title: 'S3 (versitygw)',
  portCount: 1,
  prepare: async ({ program, data, ports: [port] }) => {
    const [buckets, sidecar] = [join(data, 'buckets'), join(data, 'sidecar')];
    for (const folder of [buckets, sidecar]) await mkdir(folder, { recursive: true });
    return {
      command: program,
      // Not every file system has the attributes in which it else keeps what it knows of an object.
      args: ['--port', `127.0.0.1:${String(port)}`, '--quiet', 'posix', '--sidecar', sidecar, buckets],
      env: { ROOT_ACCESS_KEY: keys.accessKeyId, ROOT_SECRET_KEY: keys.secretAccessKey },
    };
  },
  // It refuses who shows no keys, once it answers.
  isReady: async (port) => (await fetch(`http://127.0.0.1:${String(port)}/`)).status === 403,
};

/** The one of the tests at a port. */
export const s3At = (port: number): S3 => ({ url: `http://127.0.0.1:${String(port)}`, ...keys });

/** The one at `S3_URL`, else the one that all tests share. */
export const s3: Launcher<S3> = createLauncher({
  recipe: s3Recipe,
  reach: s3At,
  given: {
    variable: 'S3_URL',
    read: (text) => {
      const { origin, username, password } = new URL(text);
      return {
        url: origin,
        accessKeyId: decodeURIComponent(username),
        secretAccessKey: decodeURIComponent(password),
      };
    },
  },
});

/** One of the caller's own, to be killed and restarted: it keeps what it acknowledged. */
export const privateS3 = (): Launcher<Private<S3>> => privately({ recipe: s3Recipe, reach: s3At });

/** A client that speaks to the server as its users do. */
export const toS3Client = ({ url, ...credentials }: S3): S3Client =>
  new S3Client({ endpoint: url, region: 'us-east-1', forcePathStyle: true, credentials, maxAttempts: 1 });

/** Makes a bucket. */
export async function makeBucket(server: S3, bucket: string): Promise<void> {
  const client = toS3Client(server);
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
  } finally {
    client.destroy();
  }
}
