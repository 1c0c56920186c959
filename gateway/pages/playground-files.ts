import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { policyOfExpressions, policyOfPlayground, toPage, withGzip, type Page } from './page.ts';

/** A package of ours holds a copy of what the tree builds. */
const copies = new URL('./assets/playground/', import.meta.url);
const folder = existsSync(copies) ? copies : new URL('./', import.meta.resolve('@agent-workflow/playground/page'));

const types = ['html', 'css', 'js', 'svg'] as const;

/** The worker that evaluates expressions which a reader lets an agent run. It alone may compile text, and it reaches nothing. */
const expressions = 'expression-worker.js';

/** Where people sign in to the playground, in the words of its page. */
export interface SignIn {
  readonly issuer: string;
  readonly client_id: string;
  /** With blanks between. */
  readonly scopes: string;
  readonly audience?: string;
}

/** What the page reads of the service before anybody has signed in. */
interface Facts {
  readonly signIn: SignIn | undefined;
  /** The names of the protocols that callers may speak. */
  readonly dialects: readonly string[];
}

/** The page of the playground at `path`, and what it loads, each below it; nothing when it is not built. */
export async function readPlayground(path: string, { signIn, dialects }: Facts): Promise<ReadonlyMap<string, Page>> {
  if (!existsSync(folder)) return new Map();
  const policy = policyOfPlayground(...(signIn ? [new URL(signIn.issuer).origin] : []));
  const names = (await readdir(fileURLToPath(folder), { recursive: true })).map((name) => name.replaceAll('\\', '/'));
  const pages = names.flatMap((name) => {
    const type = types.find((known) => name.endsWith(`.${known}`));
    return type ? [readPage(path, name, { type, policy })] : [];
  });
  const json = (name: string, value: unknown) =>
    [`${path}/${name}.json`, toPage('json', JSON.stringify(value))] as const;
  return new Map([...(await Promise.all(pages)), json('sign-in', signIn ?? {}), json('dialects', dialects)]);
}

interface Kind {
  readonly type: (typeof types)[number];
  /** Of all but the worker. */
  readonly policy: string;
}

async function readPage(path: string, name: string, kind: Kind): Promise<readonly [string, Page]> {
  const { type } = kind;
  const policy = name === expressions ? policyOfExpressions : kind.policy;
  const page = await withGzip(toPage(type, await readFile(new URL(name, folder)), policy));
  return [name === 'index.html' ? path : `${path}/${name}`, page];
}
