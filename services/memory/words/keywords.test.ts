import test from 'ava';
import { keywordsOf } from './keywords.ts';

test('words of grammar are left out of a question, unless it has no others', (t) => {
  t.is(keywordsOf('Where is the spare key?'), 'spare key');
  t.is(keywordsOf("Who's there? It's NOT the café AND 北京"), "Who's café 北京");
  t.is(keywordsOf('to be or not to be'), 'to be or not to be');
  t.is(keywordsOf('!?'), '!?');
});
