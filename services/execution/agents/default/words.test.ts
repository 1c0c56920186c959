import test from 'ava';
import { asYou, countShared } from './words.ts';

test('what the user says of himself is said back to him', (t) => {
  t.is(asYou("my tea is mine, and I'm happy that I have it"), 'your tea is yours, and you are happy that you have it');
  t.is(asYou('tell me what Amy is'), 'tell you what Amy is');
});

test('only words that say something count as shared, in any form', (t) => {
  t.is(countShared('What tea do I like?', 'my favourite tea is sencha'), 1);
  t.is(countShared('Where did I park the car?', 'I parked the car on level 3'), 2);
  t.is(countShared('What is the weather like?', 'the tea is what I like'), 0);
  t.is(countShared('What do you know about me?', 'I like tea'), undefined);
});
