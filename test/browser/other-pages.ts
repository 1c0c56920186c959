import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

/** Makes one script of a page of this folder and its libraries. `alias` names files in place of what it imports. */
export async function bundlePage(file: string, alias: Readonly<Record<string, string>> = {}): Promise<string> {
  await using made = await rolldown({
    input: fileURLToPath(new URL(file, import.meta.url)),
    resolve: { alias },
    platform: 'browser',
    // The libraries say in which of React's halves they run.
    onLog: () => undefined,
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  });
  const { output } = await made.generate({ format: 'esm', codeSplitting: false });
  return output[0].code;
}

/** A page of an origin of its own. */
interface OtherPage extends Disposable {
  readonly origin: string;
}

/** Serves pages that differ by their script alone: an address without a query has the script without a name, one with `?name` the one of that name. */
export async function serveOtherPages(scripts: Readonly<Record<string, string>>): Promise<OtherPage> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://page');
    const script = /^\/(.*)\.js$/.exec(pathname)?.[1];
    const name = Object.keys(scripts).find((each) => searchParams.has(each)) ?? '';
    response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript');
    response.end(
      script === undefined
        ? `<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="/${name}.js"></script>`
        : scripts[script],
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return { origin, [Symbol.dispose]: () => void server.close() };
}
