import { createClient, type Client, type NewMemory } from '@agent-workflow/client';
import { retrievalStrategies, distanceMetrics } from '@agent-workflow/protos/lists';
import test, { type ExecutionContext } from 'ava';
import type { Locator, Page } from 'playwright-core';
import { openPage, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test);
const forgetting = servePages(test);
const large = servePages(test);
const empty = servePages(test);
const remembering = servePages(test, 'remembering');

const clientOf = (of = service): Client => createClient({ url: of.url() });

const store = async (content: string, more: Partial<NewMemory> = {}, of = service): Promise<string> => {
  const memory = { content, memory_type: 'semantic' as const, category: 'facts', ...more };
  return (await clientOf(of).memories.store(memory)).memory_id;
};

type Query = Readonly<Record<string, string>>;

interface OpenOptions extends NonNullable<Parameters<typeof openPage>[2]> {
  readonly of?: typeof service;
}

async function open(t: ExecutionContext, query: Query = {}, { of = service, ...options }: OpenOptions = {}) {
  const search = new URLSearchParams(query).toString();
  const { page } = await openPage(t, `${of.url()}/playground#/memory${search && `?${search}`}`, options);
  return page;
}

const rows = (page: Page): Locator => page.getByRole('region', { name: 'List of memories' }).getByRole('link');
const detail = (page: Page): Locator => page.getByRole('article', { name: 'Memory' });
const column = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });

async function search(page: Page, query: string): Promise<void> {
  await page.getByRole('searchbox', { name: 'Search' }).fill(query);
  await page.getByRole('searchbox', { name: 'Search' }).press('Enter');
}

const cafe = 'The harbour café opens at six';
const question = 'when does the café open';

test.serial.before(async () => {
  const inLisbon = { metadata: { city: 'Lisbon', year: 2025 } };
  await store('The café in the old town opens at nine', {
    category: 'places',
    metadata: { city: 'Porto', year: 2019 },
  });
  await store(cafe, { category: 'places', ...inLisbon });
  await store('Ada prefers green tea', { memory_type: 'episodic', category: 'taste' });
});

browserTest('the newest memories stand first, and one that is opened says where it comes from', async (t) => {
  const page = await open(t);
  await page.getByRole('status').getByText('3 memories', { exact: true }).waitFor();
  t.regex((await rows(page).first().textContent()) ?? '', /Ada prefers green tea/);
  await rows(page).filter({ hasText: cafe }).click();
  await detail(page).getByRole('heading', { level: 1, name: cafe }).waitFor();
  const source = page.getByRole('region', { name: 'Where it comes from' });
  await source.getByText('places').waitFor();
  await page.getByRole('tree', { name: 'Metadata' }).getByText('"Lisbon"').waitFor();
  t.is(await page.getByRole('region', { name: 'Why it was found' }).count(), 0);
  await source.getByRole('link', { name: 'places' }).click();
  await page.waitForURL((url) => url.hash === '#/memory?category=places');
  await page.getByRole('status').getByText('2 memories', { exact: true }).waitFor();
});

browserTest('a search says why each memory was found: by meaning, by words, and together', async (t) => {
  const page = await open(t);
  await search(page, question);
  await page.getByText('2 found by meaning and words, best first').waitFor();
  await page.waitForURL((url) => url.hash.includes('search=when+does+the+caf'));
  const [best] = (await clientOf().memories.search({ query: question, retrieval_strategy: 'hybrid', limit: 50 }))
    .results;
  t.regex((await rows(page).first().textContent()) ?? '', new RegExp(best?.score.toFixed(2) ?? '?'));
  t.deepEqual(await rows(page).filter({ hasText: cafe }).locator('mark').allTextContents(), ['café', 'opens']);
  await rows(page)
    .filter({ hasText: cafe })
    .getByText(/^meaning 0\.\d\d$/)
    .waitFor();
  await rows(page).filter({ hasText: cafe }).click();
  const why = page.getByRole('region', { name: 'Why it was found' });
  for (const name of ['Meaning', 'Words', 'Together']) await why.getByText(name, { exact: true }).waitFor();
  await why
    .getByText(/^1st of 3$/)
    .first()
    .waitFor();
  t.deepEqual(await why.locator('.why-words mark').allTextContents(), ['café', 'opens']);
  t.is(await rows(page).filter({ hasText: 'Ada' }).count(), 0, 'it has nothing in common with the query');
  await page.getByRole('button', { name: 'Show 1 more' }).click();
  await page.getByText('3 found by meaning and words, best first').waitFor();
  await rows(page).filter({ hasText: 'Ada' }).click();
  await why.getByText('It has no word of the query.').waitFor();
});

browserTest('a query is answered by every strategy, and by every metric, beside each other', async (t) => {
  const page = await open(t, { search: question });
  await page.getByRole('button', { name: 'Compare the strategies' }).click();
  const titles = ['Meaning and words', 'Meaning', 'Relevance', 'Newest', 'Relationships'];
  const names = ['hybrid', 'similarity', 'relevance', 'temporal', 'graph_traversal'] as const;
  t.deepEqual([...names].toSorted(), [...retrievalStrategies].toSorted());
  for (const [at, strategy] of names.entries()) {
    const found = column(page, titles[at] ?? '').getByRole('listitem');
    await found.first().waitFor();
    const { results } = await clientOf().memories.search({
      ...{ query: question, retrieval_strategy: strategy, distance_metric: 'cosine' },
    });
    const texts = await found.allTextContents();
    t.is(texts.length, results.length, strategy);
    results.forEach(({ content }, place) => t.true(texts[place]?.includes(content), `${strategy} ${String(place)}`));
    if (strategy !== 'relevance') t.true(texts[0]?.includes(results[0]?.score.toFixed(2) ?? '?'), strategy);
  }
  await page.getByRole('button', { name: 'Compare metrics' }).click();
  for (const metric of distanceMetrics) await column(page, metric).getByRole('listitem').first().waitFor();
  await column(page, 'manhattan').getByRole('listitem').first().getByRole('link').click();
  await detail(page).getByRole('region', { name: 'Why it was found' }).waitFor();
  t.regex(new URL(page.url()).hash, /metric=manhattan/);
  const [first] = (await clientOf().memories.list({ limit: 1 })).memories;
  await page.goto(`${service.url()}/playground#/memory/${first?.id ?? ''}?search=tea&compare=strategies`);
  await page.getByText(/found by meaning and words/).waitFor();
});

browserTest('filters, limit and threshold narrow a search, and what cannot be read is named', async (t) => {
  const page = await open(t, { search: 'café' }, { expected: [/422/] });
  await page.getByRole('combobox', { name: 'Kind' }).selectOption('semantic');
  await page.getByText('2 found', { exact: false }).waitFor();
  const tune = page.getByText('Tune', { exact: true });
  const form = page.getByRole('form', { name: 'Tune the search' });
  await tune.click();
  await form.getByRole('textbox', { name: 'Metadata' }).fill('{"year": {"$gte": 2020}}');
  await form.getByRole('button', { name: 'Show' }).click();
  await page.getByText('1 found', { exact: false }).waitFor();
  await page.getByRole('button', { name: /remove this filter/ }).click();
  await page.getByText('2 found', { exact: false }).waitFor();

  await tune.click();
  await form.getByRole('spinbutton', { name: 'Least score' }).fill('7');
  await form.getByRole('textbox', { name: 'Metadata' }).fill('{"year"');
  await form.getByRole('button', { name: 'Show' }).click();
  await form.getByText('Least score must be a number from 0 to 1').waitFor();
  await form.getByText('Metadata is not JSON', { exact: false }).waitFor();
  t.is(await page.evaluate(() => document.activeElement?.getAttribute('name')), 'filters');
  await form.getByRole('textbox', { name: 'Metadata' }).fill('');
  await form.getByRole('spinbutton', { name: 'Least score' }).fill('1');
  await form.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('heading', { name: 'No memory is found' }).waitFor();
  await page.getByRole('link', { name: 'Search all memories' }).click();
  await page.getByText('2 found', { exact: false }).waitFor();

  await tune.click();
  await form.getByRole('textbox', { name: 'Metadata' }).fill('{"year": {"$near": 1}}');
  await form.getByRole('button', { name: 'Show' }).click();
  t.regex((await page.getByRole('alert').textContent()) ?? '', /filters\.year\.\$near/);
  await page.goto(`${service.url()}/playground#/memory`);
  await page.getByRole('status').getByText('3 memories', { exact: true }).waitFor();
  await page.goto(`${service.url()}/playground#/memory?filters=${encodeURIComponent('{"year": {"$near": 1}}')}`);
  await page.getByRole('alert').waitFor();
  t.is(await rows(page).count(), 0, 'the rows of other filters would be a wrong answer');
  t.is(await page.getByText('3 memories', { exact: true }).count(), 0);
  await page.goto(`${service.url()}/playground#/memory?type=unheard`);
  await page.getByText('There is no type of memory “unheard”, so no memory is listed.').waitFor();
});

browserTest(
  'each row has the scores of its own query, also where the searches that explain it are refused',
  async (t) => {
    const page = await open(t, { search: question }, { expected: [/422/] });
    await rows(page)
      .first()
      .getByText(/^meaning 0/)
      .waitFor();
    const asked: unknown[] = [];
    let end = (): void => undefined;
    const allAsked = new Promise<void>((done) => {
      end = done;
    });
    await page.route('**/v1/store/search', (route) => {
      const body = route.request().postDataJSON() as { retrieval_strategy: string };
      asked.push(body.retrieval_strategy);
      if (asked.length === 3) end();
      if (asked.length === 1) return route.fallback();
      return route.fulfill({ status: 422, json: { success: false, error: { message: 'Refused' } } });
    });
    await search(page, 'old town at nine');
    await rows(page).first().getByText('The café in the old town').waitFor();
    await page.waitForFunction(() => document.querySelector('.memo-part') === null);
    await allAsked;
    t.is(await page.locator('.memo-part').count(), 0);
    t.is(asked[0], 'hybrid');
  },
);

browserTest('an edit sends what was edited alone', async (t) => {
  const id = await store('Grace has a number', { metadata: { season: 'spring', age: 30 } }, forgetting);
  const { page } = await openPage(t, `${forgetting.url()}/playground#/memory/${id}`);
  await detail(page).getByRole('button', { name: 'Edit' }).click();
  const editing = page.getByRole('dialog', { name: 'Edit the memory' });
  await clientOf(forgetting).memories.update(id, { content: 'Grace has a number', metadata: { age: 31 } });
  await editing.getByRole('textbox', { name: 'Metadata' }).fill('{"season": "autumn", "age": 30}');
  await editing.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The memory is changed.').waitFor();
  t.deepEqual((await clientOf(forgetting).memories.get(id)).memory.metadata, { season: 'autumn', age: 31 });
  // The page reads the memory again: what is deleted before is missing to it.
  await detail(page).getByText('autumn').waitFor();
  await clientOf(forgetting).memories.delete(id);
});

browserTest(
  'a memory is stored, edited, forgotten and taken back, and a refusal leaves the text in its box',
  async (t) => {
    const page = await open(t, {}, { of: forgetting, expected: [/422/, /404/] });
    await page.getByRole('button', { name: 'Store a memory' }).click();
    const adding = page.getByRole('dialog', { name: 'New memory' });
    await adding.getByRole('textbox', { name: 'Content' }).fill('Grace likes long walks');
    await adding.getByRole('combobox', { name: 'Kind' }).selectOption('episodic');
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
    await detail(page).getByRole('heading', { level: 1, name: 'Grace likes long walks' }).waitFor();

    await detail(page).getByRole('button', { name: 'Edit' }).click();
    const editing = page.getByRole('dialog', { name: 'Edit the memory' });
    await editing.getByRole('textbox', { name: 'Content' }).fill('Grace likes short walks');
    await editing.getByRole('textbox', { name: 'Metadata' }).fill('{"year": 2025}');
    await editing.getByRole('button', { name: 'Save' }).click();
    await detail(page).getByRole('heading', { level: 1, name: 'Grace likes short walks' }).waitFor();
    await rows(page).filter({ hasText: 'Grace likes short walks' }).waitFor();
    const [stored] = (await clientOf(forgetting).memories.list({ category: 'walks' })).memories;
    t.like(stored, { content: 'Grace likes short walks', metadata: { season: 'spring', year: 2025 } });

    const forget = async (): Promise<void> => {
      await detail(page).getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Forget' }).click();
      await page.getByText('Forgotten: Grace likes short walks').waitFor();
      await rows(page).filter({ hasText: 'Grace' }).waitFor({ state: 'detached' });
    };
    await forget();
    t.is((await clientOf(forgetting).memories.list({ category: 'walks' })).total, 1, 'it can still be taken back');
    await page.getByRole('button', { name: 'Undo' }).click();
    await detail(page).getByRole('heading', { level: 1, name: 'Grace likes short walks' }).waitFor();
    await rows(page).filter({ hasText: 'Grace' }).waitFor();
    await forget();
    await page
      .getByRole('status', { name: 'Notices' })
      .getByText('Forgotten')
      .locator('..')
      .getByRole('button', { name: 'Dismiss' })
      .click();
    await t.notThrowsAsync(async () => {
      while ((await clientOf(forgetting).memories.list({ category: 'walks' })).total > 0);
    });
  },
);

browserTest('what is selected is forgotten only after a dialog has said how many', async (t) => {
  for (const content of ['one', 'two', 'three', 'four']) await store(content, { category: 'doomed' }, forgetting);
  await store('kept', {}, forgetting);
  const page = await open(t, { category: 'doomed' }, { of: forgetting });
  await page.getByText('4 memories', { exact: true }).first().waitFor();
  const forget = async (): Promise<void> => {
    await page.getByRole('button', { name: 'More of these memories' }).click();
    await page.getByRole('menuitem', { name: 'Forget all of these …' }).click();
  };
  await forget();
  const dialog = page.getByRole('dialog', { name: 'Forget 4 memories?' });
  await dialog.getByText('category doomed', { exact: false }).waitFor();
  await dialog.getByText('and 1 more').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  t.is((await clientOf(forgetting).memories.list()).total, 5);
  await forget();
  await dialog.getByRole('button', { name: 'Forget 4 memories' }).click();
  await page.getByText('4 memories are forgotten.').waitFor();
  await page.getByRole('heading', { name: 'No memory is as you ask' }).waitFor();
  const { memories } = await clientOf(forgetting).memories.list();
  t.deepEqual(
    memories.map(({ content }) => content),
    ['kept'],
  );
});

browserTest('a list of memories goes on by itself, and only those in sight are drawn', async (t) => {
  for (let made = 0; made < 150; made += 30)
    await Promise.all(Array.from({ length: 30 }, async (_, at) => store(`memory ${String(made + at)}`, {}, large)));
  const page = await open(t, {}, { of: large });
  await page.getByRole('status').getByText('150 memories', { exact: true }).waitFor();
  await page.getByText('The first 100 memories').waitFor();
  await rows(page).first().focus();
  await page.keyboard.press('End');
  await page.getByText('The first 100 memories').waitFor({ state: 'detached' });
  t.true((await rows(page).count()) < 40);
});

browserTest('an answer of an agent leads to the memory that it comes from, by the keyboard too', async (t) => {
  const fact = 'The ferry to Tavira leaves at noon';
  await store(fact, { category: 'ferries' });
  await clientOf().invoke({
    messages: [{ role: 'user', content: 'say The ferry leaves at noon' }],
    config: { thread_id: 'ferry' },
  });
  const { page } = await openPage(t, `${service.url()}/playground#/chat/ferry`);
  await page.getByRole('link', { name: 'Find it in the memory' }).last().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('main', { name: 'Memory' }).waitFor();
  await rows(page).first().waitFor();
  t.regex((await rows(page).first().textContent()) ?? '', /ferry to Tavira/);
  await page.locator('body').press('j');
  await page.keyboard.press('Enter');
  await detail(page).getByRole('heading', { level: 1, name: fact }).waitFor();
  await page.getByRole('region', { name: 'Why it was found' }).getByText('1st of', { exact: false }).first().waitFor();
});

browserTest('a run whose tool found memories leads to each of them', async (t) => {
  const { meta } = await clientOf(remembering).invoke({ messages: [{ role: 'user', content: 'what was said' }] });
  const { page } = await openPage(t, `${remembering.url()}/playground#/runs/${meta.run_id}`);
  await page
    .getByRole('treeitem', { name: /^Tool look/ })
    .first()
    .click();
  await page.getByRole('tab', { name: 'Output' }).click();
  const found = page.getByRole('region', { name: 'Memories that it found' });
  await found.getByRole('link', { name: 'this was said' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
  await found.getByRole('link', { name: 'this was said' }).click();
  await detail(page).getByRole('heading', { level: 1, name: 'this was said' }).waitFor();
});

browserTest('nothing there says what a memory is', async (t) => {
  const page = await open(t, {}, { of: empty });
  await page.getByRole('heading', { name: 'No memory yet' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
});

for (const size of ['desktop', 'phone'] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(
      `axe finds nothing in the list, a search, a memory and a comparison: ${size}, ${colorScheme}`,
      async (t) => {
        const page = await open(t, {}, { size, colorScheme });
        await rows(page).first().waitFor();
        await fits(t, page);
        await search(page, 'café');
        await page.getByText(/found by meaning and words/).waitFor();
        await rows(page)
          .first()
          .getByText(/^words/)
          .waitFor();
        await fits(t, page);
        await rows(page).filter({ hasText: cafe }).click();
        await page.getByRole('tree', { name: 'Metadata' }).waitFor();
        await fits(t, page);
        await page.goto(`${service.url()}/playground#/memory?search=caf%C3%A9&compare=strategies`);
        await column(page, 'Relationships').getByRole('listitem').first().waitFor();
        await fits(t, page);
        await page.getByText('Tune', { exact: true }).click();
        await fits(t, page);
      },
    );
  }
}

async function fits(t: ExecutionContext, page: Page): Promise<void> {
  t.deepEqual(await violationsIn(page), []);
  const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  t.true(width <= 0, `the page is ${String(width)} px wider than the window`);
}

browserTest('what is shared is shown, stored and forgotten by its scope', async (t) => {
  const scope = 'agent:default';
  await store('Refunds above 500 EUR need a manager', { scope }, forgetting);
  const page = await open(t, {}, { of: forgetting });
  await page.getByText('Tune', { exact: true }).click();
  await page.getByRole('textbox', { name: 'Scope' }).fill(scope);
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL((url) => url.hash === '#/memory?scope=agent%3Adefault');
  await page.getByRole('button', { name: /^scope agent:default/ }).waitFor();
  await rows(page).filter({ hasText: 'Refunds' }).click();
  await page.getByRole('region', { name: 'Where it comes from' }).getByRole('link', { name: scope }).waitFor();
  await search(page, 'who signs refunds');
  await page.getByText('1 found by meaning and words, best first').waitFor();
  await page.getByRole('button', { name: 'New memory' }).click();
  const form = page.getByRole('dialog', { name: `New memory in ${scope}` });
  t.is(await form.getByRole('textbox', { name: 'Thread' }).count(), 0);
  await form.getByRole('textbox', { name: 'Content' }).fill('The shop opens at nine');
  await form.getByRole('button', { name: 'Store' }).click();
  await detail(page).getByRole('heading', { name: 'The shop opens at nine' }).waitFor();
  t.is((await clientOf(forgetting).memories.list({ scope })).total, 2);
  t.deepEqual(await violationsIn(page), []);
});
