import test from 'ava';
import { safeAddress } from './safe-text.ts';

test('links lead to web pages and mailboxes only', (t) => {
  t.is(safeAddress('https://example.com/a'), 'https://example.com/a');
  t.is(safeAddress('mailto:ada@example.com'), 'mailto:ada@example.com');
  for (const href of [
    ...['javascript:alert(1)', ' JaVaScRiPt:alert(1)', 'java\tscript:alert(1)', '\u0001javascript:alert(1)'],
    ...['data:text/html,x', 'vbscript:x', 'file:///etc/passwd', 'blob:https://a/b', '/v1/ping', '//a.example', 'x', ''],
  ])
    t.is(safeAddress(href), undefined, href);
});
