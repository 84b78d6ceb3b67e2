// Entry of the report page: reads the data and starts the views.
document.getElementById('app').textContent = 'Clarinet';
