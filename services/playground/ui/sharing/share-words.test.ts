import test from 'ava';
import { recipientText, rightsText, yoursText } from './share-words.ts';

test('what recipients do, and who they are, is said in words', (t) => {
  t.is(rightsText(['read']), 'reads');
  t.is(rightsText(['read', 'answer']), 'reads and answers');
  t.is(rightsText(['read', 'write', 'answer']), 'reads, writes and answers');
  t.is(recipientText({ user: 'bob' }), 'bob');
  t.is(recipientText({ role: 'support' }), 'all who have the role support');
  t.is(recipientText({ everybody: true }), 'everybody who signs in');
});

test('the reader is told what they may do themselves', (t) => {
  t.is(yoursText({ rights: ['read'] }), 'You read it');
  t.is(yoursText({ rights: ['read', 'write', 'answer'] }), 'You read it, and may write and answer');
});
