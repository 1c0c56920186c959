import { existsSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { processEnv } from '@agent-workflow/kit/env';
import axe from 'axe-core';
import test, { type ExecutionContext } from 'ava';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';

/** Where Debian and Ubuntu put it. */
const executablePath = processEnv()['CHROMIUM'] ?? '/usr/bin/chromium';

/** Whether there is a Chromium to test in. */
export const hasBrowser = existsSync(executablePath);

/** Sizes of the window that views are looked at in. */
export const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;

export interface PageOptions {
  readonly size?: keyof typeof sizes;
  readonly colorScheme?: 'light' | 'dark';
  /** Errors of the console that the test provokes: each must match one of these. */
  readonly expected?: readonly RegExp[];
}

/** A tab of its own profile, and what it must not do. */
interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the console said as errors, scripts threw and policies forbade, and requests to other origins. */
  readonly faults: readonly string[];
}

let opening: Promise<Browser> | undefined;

/** The one browser of a test file: each tab has a profile of its own in it, which takes a fraction of the time of a start. */
const browser = (): Promise<Browser> =>
  (opening ??= chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--host-resolver-rules=MAP *.test 127.0.0.1'],
  }));

test.after.always(async () => (await opening)?.close());

/** Opens a tab at an address; it goes with the test, which fails when the tab did what no page of ours may do. */
export async function openPage(t: ExecutionContext, url: string, options: PageOptions = {}): Promise<WatchedPage> {
  const { size = 'desktop', colorScheme = 'light' } = options;
  const shared = await browser();
  const context = await shared.newContext({ viewport: sizes[size], colorScheme });
  const faults: string[] = [];
  t.teardown(async () => {
    await context.close();
    if (faults.length > 0) throw new Error(`the page did what it must not: ${faults.join('; ')}`);
  });
  const page = await context.newPage();
  watch(page, new URL(url).origin, options.expected ?? [], faults);
  await page.goto(url);
  return { page, context, faults };
}

function watch(page: Page, origin: string, expected: readonly RegExp[], faults: string[]): void {
  const note = (fault: string): void => {
    if (!expected.some((known) => known.test(fault))) faults.push(fault);
  };
  page.on('console', (message) => {
    if (message.type() === 'error') note(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => note(`thrown: ${error.message}`));
  page.on('request', (request) => {
    const { protocol, origin: target } = new URL(request.url());
    if (protocol.startsWith('http') && target !== origin) note(`request to ${target}`);
  });
}

/** Times are bounds on an idle machine. On a busy one they are longer: twice, or as often as processes wait for each processor. */
export const slack = (): number => Math.max(2, (loadavg()[0] ?? 0) / availableParallelism());

/** What axe finds wrong with what the page shows now: rule and place of each. */
export async function violationsIn(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(async () =>
    (globalThis as unknown as { readonly axe: typeof axe }).axe.run(),
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
}
