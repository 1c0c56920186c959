import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { npmInstalls } from '../npm.ts';
import { runPrinting } from './python.ts';

/** The kit has a hundred packages of its own, so that it is no dependency of the tests. */
export const kitVersion = '0.2.0-alpha.12';

const home = fileURLToPath(new URL(`../../.cache/mcp-conformance-${kitVersion}/`, import.meta.url));

/** The program of the conformance kit of MCP; it is installed when it is asked for first. */
async function kit(): Promise<string> {
  const done = `${home}installed`;
  if (!existsSync(done)) {
    await mkdir(home, { recursive: true });
    await writeFile(`${home}package.json`, JSON.stringify({ private: true }));
    await npmInstalls(home, 'install', '--ignore-scripts', `@modelcontextprotocol/conformance@${kitVersion}`);
    await writeFile(done, '');
  }
  return `${home}node_modules/@modelcontextprotocol/conformance/dist/index.js`;
}

/** What the kit has found, by scenario. */
export interface Scenario {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly isScored: boolean;
}

/** Runs the scenarios that a version of the protocol requires, and those that the kit runs beside them. */
export async function runKit(url: string, version: string): Promise<readonly Scenario[]> {
  const options = ['server', '--url', url, '--requirements', version];
  const { text } = await runPrinting(process.execPath, [await kit(), ...options]);
  const unscored = new Set([...text.matchAll(/^ {2}[✓✗] ([\w-]+) \(/gm)].map(([, name]) => name));
  return [...text.matchAll(/^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed$/gm)].map(([, name = '', passed, failed]) => ({
    ...{ name, passed: Number(passed), failed: Number(failed), isScored: !unscored.has(name) },
  }));
}
