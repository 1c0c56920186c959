import { once } from 'node:events';
import { connect } from 'node:http2';

/*
 * The health command of the image: exits with 0 when the process in this container is ready. It asks a gateway over HTTP, and a
 * service over gRPC at its health port; the gRPC frames are short enough to be written by hand.
 */
const { PORT = '8000', HEALTH_PORT = '', HOST = '', GRPC_HOST = '' } = process.env;
const withinMs = 3000;

/** An uncompressed gRPC message without fields: it asks for the health of the whole process. */
const question = Buffer.alloc(5);
/** The first field of the answer, as `SERVING`. */
const serving = Buffer.from([0x08, 0x01]);

/** Where a process that listens at `host` is reached from its own container. */
function near(host) {
  if (['', '0.0.0.0', '::'].includes(host)) return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

async function isReady() {
  if (HEALTH_PORT !== '') return isServing();
  const answer = await fetch(`http://${near(HOST)}:${PORT}/readyz`, { signal: AbortSignal.timeout(withinMs) });
  return answer.ok;
}

async function isServing() {
  const session = connect(`http://${near(GRPC_HOST)}:${HEALTH_PORT}`);
  try {
    const failed = once(session, 'error').then(([error]) => Promise.reject(error));
    return await Promise.race([failed, requestHealth(session)]);
  } finally {
    session.destroy();
  }
}

async function requestHealth(session) {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Check',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.setTimeout(withinMs, () => stream.destroy(new Error('no answer in time')));
  stream.end(question);
  return Buffer.concat(await stream.toArray())
    .subarray(5)
    .equals(serving);
}

process.exitCode = (await isReady().catch(() => false)) ? 0 : 1;
