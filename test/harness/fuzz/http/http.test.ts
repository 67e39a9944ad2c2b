import t from 'tap';
import { testShortForm } from '../../short-forms.js';

testShortForm(t, 'what hostile HTTP clients send does no harm', 'fuzz http');
