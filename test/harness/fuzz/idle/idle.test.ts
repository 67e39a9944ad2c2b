import t from 'tap';
import { testShortForm } from '../../short-forms.js';

testShortForm(t, 'idle connections are closed and leave nothing behind', 'fuzz idle');
