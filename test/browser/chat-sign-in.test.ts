import test from 'ava';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { openPage } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const secret = 's'.repeat(32);
const env = { JWT_SECRET_KEY: secret, JWT_ALGORITHM: 'HS256', HOST: '127.0.0.1' };
const service = servePages(test, 'chatting', env, { auth: 'jwt' });

const tokenOf = (user: string): string =>
  makeToken('HS256', secret, { claims: { user_id: user, exp: inSeconds(600) } });

browserTest('who signs in as another sees none of the messages before, and keeps what was typed', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/chat`, { expected: [/401/, /404/] });
  const dialog = page.getByRole('dialog', { name: 'Sign in' });
  await dialog.getByLabel('Bearer token').fill(tokenOf('ada'));
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  const box = page.getByRole('textbox', { name: 'Message', exact: true });
  await box.fill('hello');
  await box.press('Control+Enter');
  const messages = page.getByRole('region', { name: 'Messages' });
  await messages.getByText('You said hello.').waitFor();
  await box.fill('a draft');
  await page.getByRole('button', { name: 'Change token' }).click();
  await dialog.getByLabel('Bearer token').fill(tokenOf('grace'));
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('There is no thread of this id.').waitFor();
  t.is(await messages.count(), 0);
  t.is(await box.inputValue(), 'a draft');
});
