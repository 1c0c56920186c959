import test from 'ava';
import { tellingWords } from './telling-words.ts';

test('what holds a question together is left out, unless there is nothing else', (t) => {
  t.is(tellingWords('Where is the spare key?'), 'spare key');
  t.is(tellingWords("Who's there? It's NOT the café AND 北京"), "Who's café 北京");
  t.is(tellingWords('to be or not to be'), 'to be or not to be');
  t.is(tellingWords('!?'), '!?');
});
