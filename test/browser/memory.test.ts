import { createClient, type Client, type NewMemory } from '@agent-workflow/client';
import { retrievalStrategies, distanceMetrics } from '@agent-workflow/protos/lists';
import test, { type ExecutionContext } from 'ava';
import type { Locator, Page } from 'playwright-core';
import { openPage, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test);
const forgetting = servePages(test);
const large = servePages(test);

const clientOf = (of = service): Client => createClient({ url: of.url() });

const store = async (content: string, more: Partial<NewMemory> = {}, of = service): Promise<string> => {
  const memory = { content, memory_type: 'semantic' as const, category: 'facts', ...more };
  return (await clientOf(of).memories.store(memory)).memory_id;
};

async function open(
  t: ExecutionContext,
  tab: 'search' | 'all',
  { of = service, ...options }: Parameters<typeof openPage>[2] & { readonly of?: typeof service } = {},
): Promise<Page> {
  const { page } = await openPage(t, `${of.url()}/playground#/memory${tab === 'all' ? '?tab=all' : ''}`, options);
  return page;
}

const column = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });

async function search(page: Page, query: string): Promise<void> {
  await page.getByRole('searchbox', { name: 'Query' }).fill(query);
  await page.getByRole('button', { name: 'Search', exact: true }).click();
}

test.serial.before(async () => {
  const inLisbon = { metadata: { city: 'Lisbon', year: 2025 } };
  await store('The harbour café opens at six', { category: 'places', ...inLisbon });
  await store('The café in the old town opens at nine', {
    category: 'places',
    metadata: { city: 'Porto', year: 2019 },
  });
  await store('Ada prefers green tea', { memory_type: 'episodic', category: 'taste' });
});

browserTest(
  'a query is answered by every strategy beside each other, with the scores that the service gives',
  async (t) => {
    const page = await open(t, 'search');
    await search(page, 'when does the café open');
    for (const strategy of retrievalStrategies) {
      await column(page, strategy).getByRole('article').first().waitFor();
      const { results } = await clientOf().memories.search({
        ...{ query: 'when does the café open', retrieval_strategy: strategy, distance_metric: 'cosine' },
      });
      const articles = await column(page, strategy).getByRole('article').allTextContents();
      t.is(articles.length, results.length, strategy);
      results.forEach(({ content }, at) => t.true(articles[at]?.includes(content), `${strategy} ${String(at)}`));
      if (strategy !== 'relevance')
        results.forEach(({ score }, at) =>
          t.true(articles[at]?.includes(score.toFixed(3)), `${strategy} ${String(at)}`),
        );
    }
  },
);

browserTest('a query is answered by every metric beside each other', async (t) => {
  const page = await open(t, 'search');
  await page.getByRole('combobox', { name: 'Columns' }).selectOption('per metric');
  await page.getByRole('combobox', { name: 'Strategy' }).selectOption('hybrid');
  await search(page, 'tea');
  for (const metric of distanceMetrics) {
    const [first] = (
      await clientOf().memories.search({ query: 'tea', retrieval_strategy: 'hybrid', distance_metric: metric })
    ).results;
    const article = column(page, metric).getByRole('article').first();
    await article.waitFor();
    t.true((await article.textContent())?.includes(first?.score.toFixed(3) ?? '?'), metric);
  }
});

browserTest('filters, limit and threshold narrow every column, and what cannot be read is named', async (t) => {
  const page = await open(t, 'search', { expected: [/422/] });
  await page.getByRole('combobox', { name: 'Type' }).selectOption('semantic');
  await page.getByRole('textbox', { name: 'Category' }).fill('places');
  await page.getByRole('textbox', { name: 'Filters' }).fill('{"year": {"$gte": 2020}}');
  await search(page, 'café');
  const found = column(page, 'similarity').getByRole('article');
  await found.first().waitFor();
  t.is(await found.count(), 1);
  await page.getByRole('textbox', { name: 'Filters' }).fill('');
  await page.getByRole('spinbutton', { name: 'Limit' }).fill('1');
  await page.getByRole('spinbutton', { name: 'Least score' }).fill('1');
  await search(page, 'café');
  await column(page, 'temporal').getByText('Nothing is found.').waitFor();

  await page.getByRole('spinbutton', { name: 'Least score' }).fill('7');
  await page.getByRole('textbox', { name: 'Filters' }).fill('{"year"');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByText('Least score must be a number from 0 to 1').waitFor();
  await page.getByText('Filters is not JSON', { exact: false }).waitFor();
  t.is(await page.evaluate(() => document.activeElement?.getAttribute('name')), 'score_threshold');

  await page.getByRole('spinbutton', { name: 'Least score' }).fill('0');
  await page.getByRole('textbox', { name: 'Filters' }).fill('{"year": {"$near": 1}}');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  const alert = column(page, 'similarity').getByRole('alert');
  await alert.waitFor();
  t.regex((await alert.textContent()) ?? '', /filters\.year\.\$near/);
});

browserTest('a memory is added, edited and forgotten, and a refusal leaves the text in its box', async (t) => {
  const page = await open(t, 'all', { expected: [/422/] });
  await page.getByRole('button', { name: 'Add a memory …' }).click();
  const adding = page.getByRole('dialog', { name: 'Add a memory' });
  await adding.getByRole('textbox', { name: 'Content' }).fill('Grace likes long walks');
  await adding.getByRole('combobox', { name: 'Type' }).selectOption('episodic');
  await adding.getByRole('textbox', { name: 'Category' }).fill('walks');
  await adding.getByRole('textbox', { name: 'Metadata' }).fill('{"season": spring}');
  await adding.getByRole('button', { name: 'Store' }).click();
  await adding.getByText('Metadata is not JSON', { exact: false }).waitFor();
  await adding.getByRole('textbox', { name: 'Metadata' }).fill('{"season": "spring"}');
  t.deepEqual(await violationsIn(page), []);
  await adding.getByRole('textbox', { name: 'Thread' }).fill('a/b');
  await adding.getByRole('button', { name: 'Store' }).click();
  t.regex((await adding.getByRole('alert').textContent()) ?? '', /config\.thread_id/);
  t.is(await adding.getByRole('textbox', { name: 'Content' }).inputValue(), 'Grace likes long walks');
  await adding.getByRole('textbox', { name: 'Thread' }).fill('');
  await adding.getByRole('button', { name: 'Store' }).click();
  await page.getByText('The memory is stored.').waitFor();

  await page.getByRole('button', { name: 'Edit Grace likes long walks' }).click();
  const editing = page.getByRole('dialog', { name: 'Edit a memory' });
  await editing.getByRole('textbox', { name: 'Content' }).fill('Grace likes short walks');
  await editing.getByRole('textbox', { name: 'Metadata' }).fill('{"year": 2025}');
  await editing.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('article', { name: 'Grace likes short walks' }).waitFor();
  const [stored] = (await clientOf().memories.list({ category: 'walks' })).memories;
  t.like(stored, { content: 'Grace likes short walks', metadata: { season: 'spring', year: 2025 } });

  await page.getByRole('button', { name: 'Forget Grace likes short walks' }).click();
  const forgetting = page.getByRole('dialog', { name: 'Forget this memory?' });
  await forgetting.getByText('Grace likes short walks').waitFor();
  await forgetting.getByRole('button', { name: 'Forget 1 memory' }).click();
  await page.getByText('1 memory is forgotten.').waitFor();
  t.is((await clientOf().memories.list({ category: 'walks' })).total, 0);
});

browserTest('what is selected is forgotten only after a dialog has said how many', async (t) => {
  for (const content of ['one', 'two', 'three', 'four']) await store(content, { category: 'doomed' }, forgetting);
  await store('kept', {}, forgetting);
  const page = await open(t, 'all', { of: forgetting });
  await page.getByText('5 memories in all').waitFor();
  const forget = page.getByRole('button', { name: 'Forget those shown …' });
  await page.getByRole('textbox', { name: 'Category' }).fill('doomed');
  t.true(await forget.isDisabled(), 'those that are shown are not those of the changed boxes');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText('4 memories in all').waitFor();
  await forget.click();
  const dialog = page.getByRole('dialog', { name: 'Forget 4 memories?' });
  await dialog.getByText('category doomed', { exact: false }).waitFor();
  await dialog.getByText('and 1 more').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  t.is((await clientOf(forgetting).memories.list()).total, 5);
  await forget.click();
  await dialog.getByRole('button', { name: 'Forget 4 memories' }).click();
  await page.getByText('4 memories are forgotten.').waitFor();
  await page.getByText('No memory is found.').waitFor();
  const { memories } = await clientOf(forgetting).memories.list();
  t.deepEqual(
    memories.map(({ content }) => content),
    ['kept'],
  );
});

browserTest('a list of memories continues after its first page, and only those in sight are drawn', async (t) => {
  for (let made = 0; made < 150; made += 30)
    await Promise.all(Array.from({ length: 30 }, async (_, at) => store(`memory ${String(made + at)}`, {}, large)));
  const page = await open(t, 'all', { of: large });
  await page.getByText('The first 100 memories').waitFor();
  await page.getByRole('button', { name: 'Load more memories' }).click();
  await page.getByText('150 memories', { exact: true }).waitFor();
  t.true((await page.getByRole('article').count()) < 40);
});

for (const size of ['desktop', 'phone'] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing in a search and in the list of memories: ${size}, ${colorScheme}`, async (t) => {
      const page = await open(t, 'search', { size, colorScheme });
      await search(page, 'café');
      await column(page, 'graph_traversal').getByRole('article').first().waitFor();
      await fits(t, page);
      await page.getByRole('link', { name: 'All memories' }).click();
      await page.getByRole('article').first().waitFor();
      await fits(t, page);
      await page.getByRole('button', { name: 'Forget those shown …' }).click();
      await page.getByRole('dialog', { name: /^Forget \d+ memories\?$/ }).waitFor();
      await fits(t, page);
    });
  }
}

async function fits(t: ExecutionContext, page: Page): Promise<void> {
  t.deepEqual(await violationsIn(page), []);
  const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  t.true(width <= 0, `the page is ${String(width)} px wider than the window`);
}
