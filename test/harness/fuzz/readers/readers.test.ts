import t from 'tap';
import { testShortForm } from '../../short-forms.js';

testShortForm(t, 'hostile readers take nothing from a good one', 'fuzz readers');
