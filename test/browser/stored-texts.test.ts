import { readFile } from 'node:fs/promises';
import { createClient, type Client } from '@agent-workflow/client';
import test from 'ava';
import type { Page } from 'playwright-core';
import { markdownTexts } from '../linear/markdown-texts.ts';
import { openPage, slack } from './browser.ts';
import { messages, status } from './chat-page.ts';
import { scripts } from './scripts.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'repeating');
const client = (): Client => createClient({ url: service.url() });

/** What a text ends with, so that a page which shows all of it shows this. */
const end = 'These are the last words.';
const length = 126_000;
const harmless = `${'Some words.\n'.repeat(9)}\n`;

/** Puts a text wherever a page shows text, and gives the run that did. */
async function store(id: string, text: string, config: object = {}): Promise<string> {
  const { meta } = await client().invoke({
    messages: [{ role: 'user', content: text }],
    config: { thread_id: id, thread_name: text.slice(0, 1000), metadata: { text: text.slice(0, 30_000) }, ...config },
  });
  return meta.run_id;
}

const memory = (content: string) => ({ content, memory_type: 'semantic', category: 'texts' }) as const;

interface Watched {
  /** The longest task since the last look, in milliseconds. */
  readonly longest: () => Promise<number>;
}

async function watchTasks(page: Page): Promise<Watched> {
  await page.evaluate(() => {
    const found = { longest: 0 };
    Object.assign(globalThis, { found });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) found.longest = Math.max(found.longest, duration);
    }).observe({ type: 'longtask' });
  });
  return {
    longest: () =>
      page.evaluate(async () => {
        // Entries come in a task of their own, after the one that they are of.
        await new Promise((resolve) => setTimeout(resolve, 0));
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
        const { found } = globalThis as unknown as { found: { longest: number } };
        const { longest } = found;
        found.longest = 0;
        return longest;
      }),
  };
}

/** How long a task may take where those of harmless texts take so long, in milliseconds: each is a moment, and not one of a hundred. */
const boundOf = (usual: number): number => Math.max(6 * usual, 200 * slack());

const goTo = (page: Page, hash: string): Promise<void> =>
  page.evaluate((to) => {
    location.hash = to;
  }, `#/${hash}`);

/** Opens every view that shows the text of a thread. */
async function openViews(page: Page, id: string, run: string): Promise<void> {
  await goTo(page, `chat/${id}`);
  const article = (name: string) => messages(page).getByRole('article', { name });
  await article('You').locator('.written').filter({ hasText: end }).waitFor();
  await article('Agent').locator('.markdown').filter({ hasText: end }).waitFor();
  await article('Agent').locator('summary', { hasText: 'Tool call repeat' }).click();
  await page.getByRole('region', { name: 'Result of repeat' }).waitFor();
  await goTo(page, `threads/${id}?tab=state`);
  await page.getByRole('tree', { name: 'Values of the state' }).waitFor();
  await page.getByText('Metadata of the thread').click();
  await page.getByRole('tree', { name: 'Metadata of the thread' }).waitFor();
  await goTo(page, `runs/${run}`);
  await page.getByRole('tab', { name: 'Events' }).click();
  await page.getByRole('button', { name: 'reports' }).first().click();
  await page.getByRole('tree', { name: /JSON of event/ }).waitFor();
}

const corpus = Object.entries(markdownTexts).map(([name, make]) => [name, `${make(length)}\n\n${end}`] as const);

/** Every view of a harmless text of the same length, in the same page: what a busy machine makes longer, it makes longer there as well. */
async function baseline(page: Page, tasks: Watched): Promise<number> {
  const run = await store('harmless', `${harmless.repeat(length / harmless.length)}${end}`);
  await openViews(page, 'harmless', run);
  await tasks.longest();
  await openViews(page, 'harmless', run);
  return Math.max(100, await tasks.longest());
}

browserTest('whatever text a thread holds, each view shows it and answers its reader', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/threads`);
  const tasks = await watchTasks(page);
  const usual = await baseline(page, tasks);
  let worst = { name: '', ms: 0 };
  for (const [index, [name, text]] of corpus.entries()) {
    const id = `text-${String(index)}`;
    const run = await store(id, text);
    await t.notThrowsAsync(openViews(page, id, run), name);
    const ms = await tasks.longest();
    if (ms > worst.ms) worst = { name, ms };
    t.true(ms <= boundOf(usual), `${name}: a task of ${ms.toFixed(0)} ms; of a harmless text: ${usual.toFixed(0)} ms`);
  }
  t.log(`the longest task: ${worst.ms.toFixed(0)} ms (${worst.name}); of a harmless text: ${usual.toFixed(0)} ms`);
});

browserTest('a message of whatever text is drawn while it streams, and the page answers', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/chat`);
  const tasks = await watchTasks(page);
  const stream = async (id: string, text: string): Promise<number> => {
    const { run_id: run } = await client().runs.start({
      messages: [{ role: 'user', content: text }],
      config: { thread_id: id },
    });
    await goTo(page, `chat/${id}?run=${run}`);
    await status(page, 'Completed');
    await messages(page)
      .getByRole('article', { name: 'Agent' })
      .locator('.markdown')
      .filter({ hasText: end })
      .waitFor();
    return tasks.longest();
  };
  const usual = Math.max(100, await stream('streamed', `${harmless.repeat(length / harmless.length)}${end}`));
  for (const [index, name] of streamed.entries()) {
    const ms = await stream(`streamed-${String(index)}`, `${markdownTexts[name]?.(length) ?? ''}\n\n${end}`);
    t.true(ms <= boundOf(usual), `${name}: a task of ${ms.toFixed(0)} ms; of a harmless text: ${usual.toFixed(0)} ms`);
  }
});

const streamed = [
  ...['emphasis without a space between', 'signs of quotes', 'lists in lists on one line', 'heads of tables'],
  ...['items of a list', 'strikes that match by halves'],
];

browserTest('memories, errors of runs and descriptions of agents are shown, whatever their texts are', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/threads`);
  const tasks = await watchTasks(page);
  for (const [, make] of Object.entries(markdownTexts)) await client().memories.store(memory(`${end} ${make(20_000)}`));
  await goTo(page, 'memory');
  const memories = page.getByRole('region', { name: 'List of memories' });
  const row = memories.getByRole('link', { name: end }).first();
  await row.waitFor();
  await memories.press('End');
  await memories.press('Home');
  await row.click();
  await page.getByRole('region', { name: 'Content' }).getByText(end).waitFor();
  await page.getByRole('searchbox', { name: 'Search' }).fill(end);
  await page.getByText(/found by meaning and words/).waitFor();

  const agents = Object.entries(markdownTexts).map(([name, make]) => ({
    ...{ name, description: `${make(4000)} ${end}`, is_default: false, tools: [] },
  }));
  await page.route('**/v1/agents', (route) => route.fulfill({ json: { data: { agents }, metadata: {} } }));
  await goTo(page, 'agents');
  await page
    .getByText(end)
    .nth(agents.length - 1)
    .waitFor();
  t.is(await page.getByText(end).count(), agents.length);

  for (const name of streamed) {
    const text = `${end} ${markdownTexts[name]?.(length) ?? ''}`;
    await t.throwsAsync(store(`fails ${name}`, text, { fails: true }));
    await goTo(page, `chat/${encodeURIComponent(`fails ${name}`)}`);
    await page.getByRole('alert').filter({ hasText: end }).waitFor();
    await goTo(page, 'runs?status=failed');
    await page.locator('.item-why').filter({ hasText: end }).first().waitFor();
  }
  const ms = await tasks.longest();
  t.true(ms <= boundOf(100), `${ms.toFixed(0)} ms`);
});

/** Values as large as the service takes them. */
const values: Readonly<Record<string, () => unknown>> = {
  'a value of 100 levels': () => JSON.parse(`${'{"a":['.repeat(50)}"${end}"${']}'.repeat(50)}`) as unknown,
  'an object of many fields': () =>
    Object.fromEntries(Array.from({ length: 25_000 }, (_, index) => [`field ${String(index)}`, index])),
  'a text of nearly 2 MiB': () => 'word '.repeat(400_000),
  'a text of nearly 2 MiB without a space': () => 'w'.repeat(2_000_000),
  'a long list of equal items': () => Array.from({ length: 90_000 }, () => ({ a: 1 })),
  'many levels of long lists': () => {
    let value: unknown = 1;
    for (let level = 0; level < 50; level++) value = [value, Array.from({ length: 500 }, () => [level])];
    return value;
  },
};

browserTest(
  'a state of whatever size and depth is shown as far as a page can, compared, and saved whole',
  async (t) => {
    const { page } = await openPage(t, `${service.url()}/playground#/threads`);
    const tasks = await watchTasks(page);
    for (const [index, [name, make]] of Object.entries(values).entries()) {
      const id = `value-${String(index)}`;
      await store(id, 'hello');
      const value = make();
      await client().threads.writeState(id, { text: Array.isArray(value) ? [0, ...(value as unknown[])] : value });
      await client().threads.writeState(id, { text: Array.isArray(value) ? [2, ...(value as unknown[])] : [value] });
      await goTo(page, `threads/${id}?tab=state`);
      const shown = page.getByRole('tree', { name: 'Values of the state' });
      await shown.waitFor();
      t.true(((await shown.textContent()) ?? '').length <= 200_000, name);
      if (JSON.stringify(value).length > 1024 * 1024) {
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'Save all of it' }).click(),
        ]);
        const saved = JSON.parse(await readFile(await download.path(), 'utf8')) as { text: unknown };
        t.is(JSON.stringify(saved.text).length, JSON.stringify(value).length + 2, name);
      }
      const versions = page.getByRole('navigation', { name: /^Versions/ });
      await versions.getByRole('link', { name: 'Direct write' }).first().click();
      await page.getByRole('tab', { name: 'Changes' }).click();
      await page.getByRole('table', { name: /from the earlier state/ }).waitFor();
      const ms = await tasks.longest();
      t.true(ms <= boundOf(200), `${name}: ${ms.toFixed(0)} ms`);
      t.log(`${name}: ${ms.toFixed(0)} ms`);
    }
  },
);

browserTest('errors in messages, and names of tools, blocks and files, are shown as far as a page can', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/threads`);
  await store('long-names', 'hello');
  const long = 'word '.repeat(100_000);
  const address = 'https://example.com/a.pdf';
  for (const block of [
    { type: 'error', message: long },
    { type: 'tool_call', id: 'call', name: long, args: {} },
    { type: long },
    { type: 'document', url: address, name: long },
  ])
    await client().threads.addMessages('long-names', [{ role: 'assistant', content: [block] }]);
  await goTo(page, 'chat/long-names');
  const articles = messages(page).getByRole('article', { name: 'Agent' });
  await articles.getByText(/at example\.com/).waitFor();
  await articles.getByText('Tool call word').waitFor();
  await articles.getByRole('button', { name: 'Save all of it' }).waitFor();
  const shown = (await messages(page).textContent()) ?? '';
  // The error as far as a text, the block as far as a value.
  t.true(shown.length < 256 * 1024 + 200_000 + 10_000, String(shown.length));
});

/** What of the content of a page could run, load from elsewhere, or lead anywhere but to the web. */
const unsafe = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const content = document.getElementById('content') ?? document.body;
    const active =
      'script, style, link, meta, base, iframe, object, embed, template, math, animate, form[action], [srcdoc], [formaction]';
    const attributes = [...content.querySelectorAll('*')].flatMap((each) =>
      [...each.attributes].filter(({ name }) => name.startsWith('on')).map(({ name }) => name),
    );
    const addresses = [...content.querySelectorAll<HTMLAnchorElement>('a[href]')]
      .map((link) => new URL(link.href, location.href))
      .filter(
        ({ protocol, origin }) => !['http:', 'https:', 'mailto:'].includes(protocol) && origin !== location.origin,
      );
    const loaded = [...content.querySelectorAll('img, audio, video, svg image')].map(({ outerHTML }) => outerHTML);
    return [
      ...[...content.querySelectorAll(active)].map(({ outerHTML }) => outerHTML),
      ...attributes,
      ...addresses.map(({ href }) => href),
      ...loaded,
    ];
  });

browserTest('nothing that a message holds runs, is loaded or can be followed but links to the web', async (t) => {
  const text = scripts.join('\n\n');
  const run = await store('scripts', `${text}\n\n${end}`);
  for (const each of scripts) await store('each-script', each);
  const { page } = await openPage(t, `${service.url()}/playground#/threads`);
  page.on('dialog', (dialog) => t.fail(dialog.message()));
  for (const id of ['scripts', 'each-script']) {
    await goTo(page, `chat/${id}`);
    await messages(page).locator('.markdown').filter({ hasText: 'document.title' }).first().waitFor();
    t.deepEqual(await unsafe(page), [], id);
  }
  await openViews(page, 'scripts', run);
  t.deepEqual(await unsafe(page), []);
  t.true(
    (await page.title()).startsWith('<script>document.title = "taken"</script>'),
    'the title is that of the thread',
  );
});

browserTest('what cannot be drawn is shown as it is stored, and all that stands around it as ever', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/threads`, {
    expected: [/poisoned/, /reading 'length'/],
  });
  await store('poisoned', 'A first message.');
  await store('poisoned', 'See [this](https://poison.example/).');
  await store('poisoned', 'A last message.');
  await page.addInitScript(() => {
    URL.canParse = (address) => {
      if (String(address).includes('poison.example')) throw new Error('poisoned');
      return true;
    };
  });
  await page.goto(`${service.url()}/playground#/chat/poisoned`);
  await page.reload();
  const list = messages(page);
  await list.getByRole('alert').getByText('[this](https://poison.example/)').waitFor();
  await list.locator('.markdown').filter({ hasText: 'A last message.' }).waitFor();
  await list.locator('.markdown').filter({ hasText: 'A first message.' }).waitFor();
  t.is(await list.getByRole('alert').count(), 1);

  await page.route('**/v1/store/memories?*', async (route) => {
    const response = await route.fetch();
    const { data, metadata } = (await response.json()) as { data: { memories: object[] }; metadata: object };
    const [first, ...rest] = data.memories;
    await route.fulfill({
      response,
      json: { data: { ...data, memories: [{ ...first, content: null }, ...rest] }, metadata },
    });
  });
  await client().memories.store(memory('A sound memory'));
  await client().memories.store(memory('A memory that comes without its content'));
  await goTo(page, 'memory');
  await page.getByRole('alert').filter({ hasText: 'content: null' }).waitFor();
  await page.getByText('A sound memory').waitFor();
});
