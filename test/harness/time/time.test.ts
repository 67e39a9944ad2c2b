import t from 'tap';
import { testShortForm } from '../short-forms.js';

testShortForm(t, 'a stepped clock and a blocked event loop break no promise', 'time');
